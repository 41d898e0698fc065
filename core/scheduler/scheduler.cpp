#include "core/scheduler/scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/errors.h"

namespace ft {

Scheduler::Scheduler(SchedulerOptions options) : options_(std::move(options)) {
  FT_CHECK(options_.max_running > 0 && options_.max_prefill_tokens > 0);
  FT_CHECK(options_.page_size_tokens > 0);
  for (const PageGroupOptions& group : options_.groups) {
    pools_.emplace_back(group.num_pages);
  }
  for (int slot = options_.max_running - 1; slot >= 0; --slot) {
    free_slots_.push_back(slot);
  }
  running_.reserve(static_cast<size_t>(options_.max_running));
  batch_.resize(static_cast<size_t>(options_.max_running));
  for (ScheduledSequence& part : batch_) {
    part.page_tables.resize(options_.groups.size());
  }
}

int64_t Scheduler::PagesFor(int64_t tokens) const {
  return (tokens + options_.page_size_tokens - 1) / options_.page_size_tokens;
}

int64_t Scheduler::max_sequence_tokens() const {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const PageGroupOptions& group : options_.groups) {
    // A windowed group holds the window, the chunk being computed and two pages cut at their edges.
    const int64_t bounded = PagesFor(group.window_tokens + options_.max_prefill_tokens) + 2;
    if (group.window_tokens == 0 || group.num_pages < bounded) {
      most = std::min(most, group.num_pages * options_.page_size_tokens);
    }
  }
  return most;
}

Status Scheduler::Add(SequenceId id, int64_t num_tokens, int64_t max_total_tokens) {
  FT_CHECK(num_tokens > 0 && max_total_tokens >= num_tokens);
  if (max_total_tokens > max_sequence_tokens()) {
    return ResourceExhausted("{} tokens can never fit a cache of {} tokens", max_total_tokens,
                             max_sequence_tokens());
  }
  if (num_waiting() >= options_.max_queued) {
    return Unavailable("the queue is full: {} requests are waiting", num_waiting());
  }
  Sequence sequence;
  sequence.id = id;
  sequence.num_tokens = num_tokens;
  sequence.max_total = max_total_tokens;
  sequence.pages.resize(options_.groups.size());
  for (std::vector<PageId>& pages : sequence.pages) {
    pages.reserve(static_cast<size_t>(PagesFor(max_total_tokens)));
  }
  waiting_.push_back(std::move(sequence));
  return Status();
}

void Scheduler::Remove(SequenceId id) {
  const auto has_id = [id](const Sequence& sequence) { return sequence.id == id; };
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), has_id);
  if (waiting != waiting_.end()) {
    waiting_.erase(waiting);
    return;
  }
  const auto running = std::find_if(running_.begin(), running_.end(), has_id);
  if (running != running_.end()) {
    FreePages(&*running);
    free_slots_.push_back(running->state_slot);
    running_.erase(running);
  }
}

int64_t Scheduler::PagesNeeded(const Sequence& sequence, size_t group, int64_t up_to_tokens) const {
  return std::max<int64_t>(
      0, PagesFor(up_to_tokens) - static_cast<int64_t>(sequence.pages[group].size()));
}

bool Scheduler::HasRoom(const Sequence& sequence, int64_t up_to_tokens) const {
  for (size_t group = 0; group < pools_.size(); ++group) {
    int64_t needed = PagesNeeded(sequence, group, up_to_tokens);
    const int64_t window = options_.groups[group].window_tokens;
    if (window > 0) {  // chunks free what lies before the window as they go
      needed = std::min(needed, PagesFor(window + options_.max_prefill_tokens) + 2);
    }
    if (needed > pools_[group].num_free()) {
      return false;
    }
  }
  return true;
}

bool Scheduler::TakePages(Sequence* sequence, int64_t up_to_tokens) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    if (PagesNeeded(*sequence, group, up_to_tokens) > pools_[group].num_free()) {
      return false;
    }
  }
  for (size_t group = 0; group < pools_.size(); ++group) {
    FT_CHECK(
        pools_[group].Take(PagesNeeded(*sequence, group, up_to_tokens), &sequence->pages[group]));
  }
  return true;
}

void Scheduler::FreePages(Sequence* sequence) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    for (const PageId page : sequence->pages[group]) {
      if (page != kNoPage) {
        pools_[group].GiveBack(page);
      }
    }
    sequence->pages[group].clear();
  }
}

void Scheduler::FreeBeforeWindow(Sequence* sequence) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    const int64_t window = options_.groups[group].window_tokens;
    if (window == 0) {
      continue;
    }
    // The next query (position num_computed) sees positions > num_computed - window.
    const int64_t first_seen = std::max<int64_t>(0, sequence->num_computed - window + 1);
    const int64_t num_dead = first_seen / options_.page_size_tokens;
    std::vector<PageId>& pages = sequence->pages[group];
    for (int64_t i = std::min<int64_t>(num_dead, static_cast<int64_t>(pages.size())) - 1; i >= 0;
         --i) {
      PageId& page = pages[static_cast<size_t>(i)];
      if (page == kNoPage) {
        break;  // everything before it went earlier
      }
      pools_[group].GiveBack(page);
      page = kNoPage;
    }
  }
}

void Scheduler::Admit() {
  while (!waiting_.empty() && num_running() < options_.max_running) {
    Sequence& next = waiting_.front();
    const int64_t wanted = std::min(next.max_total, next.num_tokens + options_.growth_tokens);
    if (!running_.empty() && !HasRoom(next, wanted)) {
      return;  // first come, first served: nobody overtakes
    }
    next.state_slot = free_slots_.back();
    free_slots_.pop_back();
    running_.push_back(std::move(next));
    waiting_.pop_front();
  }
}

void Scheduler::Preempt(size_t index) {
  Sequence sequence = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  FreePages(&sequence);
  free_slots_.push_back(sequence.state_slot);
  sequence.state_slot = -1;
  sequence.num_computed = 0;
  waiting_.push_front(std::move(sequence));
  ++num_preemptions_;
}

// Pages for `running_[index]`, at the cost of younger sequences not yet in this batch.
bool Scheduler::MakeRoom(size_t index, int64_t up_to_tokens) {
  while (!TakePages(&running_[index], up_to_tokens)) {
    if (running_.size() - 1 == index) {
      return false;
    }
    Preempt(running_.size() - 1);
  }
  return true;
}

void Scheduler::Plan(const Sequence& sequence) {
  ScheduledSequence& part = batch_[num_batched_++];
  part.id = sequence.id;
  part.start_position = sequence.num_computed;
  part.num_tokens = static_cast<int32_t>(sequence.num_planned);
  part.is_last_chunk = sequence.num_computed + sequence.num_planned == sequence.num_tokens;
  part.state_slot = sequence.state_slot;
  for (size_t group = 0; group < sequence.pages.size(); ++group) {
    part.page_tables[group] = sequence.pages[group];
  }
}

std::span<const ScheduledSequence> Scheduler::Schedule() {
  num_batched_ = 0;
  Admit();
  int64_t prefill_left = options_.max_prefill_tokens;
  for (size_t i = 0; i < running_.size(); ++i) {
    const int64_t open = running_[i].num_tokens - running_[i].num_computed;
    FT_CHECK(open > 0);
    const bool is_decode = open == 1 && running_[i].num_computed > 0;
    const int64_t num_tokens = is_decode ? 1 : std::min(open, prefill_left);
    running_[i].num_planned = 0;
    if (num_tokens == 0) {
      continue;
    }
    if (!MakeRoom(i, running_[i].num_computed + num_tokens)) {
      // The youngest cannot go on now: its pages are worth more to the older ones.
      FT_CHECK(i > 0);  // alone it fits, see Add
      Preempt(i);
      break;
    }
    prefill_left -= is_decode ? 0 : num_tokens;
    running_[i].num_planned = num_tokens;
  }
  for (const Sequence& sequence : running_) {
    if (sequence.num_planned > 0) {
      Plan(sequence);
    }
  }
  return std::span(batch_).first(num_batched_);
}

void Scheduler::StepDone() {
  for (Sequence& sequence : running_) {
    if (sequence.num_planned > 0) {
      sequence.num_computed += sequence.num_planned;
      sequence.num_planned = 0;
      FreeBeforeWindow(&sequence);
    }
  }
  num_batched_ = 0;
}

void Scheduler::Append(SequenceId id) {
  for (Sequence& sequence : running_) {
    if (sequence.id == id) {
      FT_CHECK(sequence.num_computed == sequence.num_tokens);
      ++sequence.num_tokens;
      FT_CHECK(sequence.num_tokens <= sequence.max_total);
      return;
    }
  }
  FT_CHECK(false);
}

int64_t Scheduler::num_pages() const {
  int64_t total = 0;
  for (const PagePool& pool : pools_) {
    total += pool.num_pages();
  }
  return total;
}

int64_t Scheduler::num_pages_used() const {
  int64_t used = 0;
  for (const PagePool& pool : pools_) {
    used += pool.num_pages() - pool.num_free();
  }
  return used;
}

}  // namespace ft
