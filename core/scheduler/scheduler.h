// Scheduler: which sequences run in the next step, how many tokens each, and on which pages.
// Integers only: it knows no device, no model, no text.
//
// Policy. A sequence is admitted when pages for all its known tokens and a little growth are free,
// or when nothing else runs. Every step decodes all sequences that are past their prompt and fills
// the rest of the step with prompt chunks, oldest first. When a running sequence needs a page and
// none is free, the youngest running one is preempted: it gives its pages back and later computes
// its tokens again. One sequence alone always fits, since Add refuses what is larger than the pool:
// so every sequence ends.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/kv/page_pool.h"

namespace ft {

using SequenceId = uint64_t;

/// One kind of cache pages: the layers of a model's CacheGroup.
struct PageGroupOptions {
  int64_t num_pages = 0;
  int64_t window_tokens = 0;  ///< pages wholly before the window are given back; 0 = keep all
};

struct SchedulerOptions {
  int max_running = 4;                ///< sequences in one step
  int64_t max_queued = 1024;          ///< waiting sequences; one more is refused
  int64_t max_prefill_tokens = 8192;  ///< prompt tokens of one step, all sequences together
  int64_t page_size_tokens = 16;
  int64_t growth_tokens = 256;  ///< free room wanted beyond the known tokens when others run
  std::vector<PageGroupOptions> groups;
};

/// One sequence's part of a step. Spans are valid until the next call of the scheduler.
struct ScheduledSequence {
  SequenceId id = 0;
  int64_t start_position = 0;  ///< tokens already computed
  int32_t num_tokens = 0;
  bool is_last_chunk = false;  ///< after it all known tokens are computed: sample
  int state_slot = 0;          ///< 0..max_running-1, fixed while it runs
  std::vector<std::span<const PageId>>
      page_tables;  ///< [groups]; pages before a window are kNoPage
};

inline constexpr PageId kNoPage = -1;

/// Not thread-safe: owned by the engine's thread.
class Scheduler {
 public:
  explicit Scheduler(SchedulerOptions options);

  /// The most tokens one sequence can have: every group can hold them, given its window.
  int64_t max_sequence_tokens() const;

  /// Queues a sequence of `num_tokens` (> 0) known tokens that may grow to `max_total_tokens`.
  /// Errors: kResourceExhausted when max_total_tokens can never fit, or the queue is full.
  Status Add(SequenceId id, int64_t num_tokens, int64_t max_total_tokens);

  /// Forgets a sequence, running or waiting, and frees its pages. Unknown ids are ignored.
  void Remove(SequenceId id);

  /// The next step; empty when there is nothing to do. Its pages are taken. Call StepDone after it
  /// ran.
  std::span<const ScheduledSequence> Schedule();

  /// The step ran: its tokens are computed.
  void StepDone();

  /// The sequence got one more token (sampled). Requires: it is running and fully computed.
  void Append(SequenceId id);

  int num_running() const { return static_cast<int>(running_.size()); }

  int num_waiting() const { return static_cast<int>(waiting_.size()); }

  int64_t num_pages() const;
  int64_t num_pages_used() const;

  uint64_t num_preemptions() const { return num_preemptions_; }

 private:
  struct Sequence {
    SequenceId id = 0;
    int64_t num_tokens = 0;    // known: prompt and sampled
    int64_t num_computed = 0;  // in the cache
    int64_t max_total = 0;
    int64_t num_planned = 0;  // tokens of it in the step being planned
    int state_slot = -1;
    std::vector<std::vector<PageId>> pages;  // [groups][page index]; kNoPage where given back
  };

  int64_t PagesFor(int64_t tokens) const;
  int64_t PagesNeeded(const Sequence& sequence, size_t group, int64_t up_to_tokens) const;
  bool HasRoom(const Sequence& sequence, int64_t up_to_tokens) const;
  bool TakePages(Sequence* sequence, int64_t up_to_tokens);
  void FreePages(Sequence* sequence);
  void FreeBeforeWindow(Sequence* sequence);
  void Admit();
  bool MakeRoom(size_t index, int64_t up_to_tokens);
  void Preempt(size_t index);
  void Plan(const Sequence& sequence);

  SchedulerOptions options_;
  std::vector<PagePool> pools_;    // [groups]
  std::deque<Sequence> waiting_;   // oldest first; preempted ones in front
  std::vector<Sequence> running_;  // by admission
  std::vector<int> free_slots_;
  std::vector<ScheduledSequence> batch_;  // [max_running], the first num_batched_ are the step
  size_t num_batched_ = 0;
  uint64_t num_preemptions_ = 0;
};

}  // namespace ft
