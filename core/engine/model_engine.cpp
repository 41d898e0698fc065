#include "core/engine/model_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/check.h"
#include "core/base/errors.h"
#include "core/base/log.h"

namespace ft {

struct ModelEngine::Live {
  RequestId id = 0;
  Request request;
  uint64_t seed = 0;
  std::vector<int32_t> tokens;  // prompt, then output; capacity for all of them
  TokenCounts counts;
  std::unique_ptr<OutputStage> stage;
  bool is_finished = false;
  size_t output_index = 0;  // into outputs_, valid when output_step is this step
  uint64_t output_step = ~uint64_t{0};

  int64_t num_output() const {
    return static_cast<int64_t>(tokens.size() - request.prompt_ids.size());
  }
};

ModelEngine::ModelEngine(ModelEngineOptions options,
                         Model* model,
                         KvMemory* kv,
                         const text::Tokenizer* tokenizer,
                         OutputSink* sink)
    : options_(std::move(options)),
      model_(model),
      kv_(kv),
      tokenizer_(tokenizer),
      sink_(sink),
      scheduler_(options_.scheduler),
      sampler_(model->info().vocab_size) {
  FT_CHECK(options_.max_model_len > 0);
  FT_CHECK(options_.max_model_len <= scheduler_.max_sequence_tokens());
  const auto max_running = static_cast<size_t>(options_.scheduler.max_running);
  const size_t max_tokens =
      static_cast<size_t>(options_.scheduler.max_prefill_tokens) + max_running;
  tokens_.reserve(max_tokens);
  sequences_.resize(max_running);
  for (SequenceInput& sequence : sequences_) {
    sequence.page_tables.resize(options_.scheduler.groups.size());
  }
  logit_rows_.reserve(max_running);
  logits_.resize(max_running * static_cast<size_t>(model->info().vocab_size));
  UpdateStats();
}

ModelEngine::~ModelEngine() {
  Stop();
}

void ModelEngine::Start() {
  FT_CHECK(!thread_.joinable());
  thread_ = std::thread([this] { Loop(); });
}

void ModelEngine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    is_draining_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void ModelEngine::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] {
        return stop_ || !submitted_.empty() || !cancelled_.empty() || !live_.empty();
      });
      if (stop_) {
        break;
      }
    }
    RunStep();
  }
  TakeNotes();
  for (auto& [id, live] : live_) {
    Finish(live.get(), FinishReason::kCancelled, Status());
  }
  SendOutputs();
}

bool ModelEngine::RunStep() {
  TakeNotes();
  const auto begin = std::chrono::steady_clock::now();
  const std::span<const ScheduledSequence> batch = scheduler_.Schedule();
  const bool has_work = !batch.empty();
  if (has_work) {
    FillInput(batch);
    const ForwardInput input = {.tokens = tokens_,
                                .sequences = std::span(sequences_).first(num_sequences_),
                                .logit_rows = logit_rows_,
                                .compute_mode = options_.compute_mode,
                                .is_deterministic = options_.is_deterministic};
    const Status status = model_->Forward(input, kv_, logits_.data());
    if (status.ok()) {
      SampleAll(batch);
    } else {
      FailBatch(batch, status);
    }
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - begin;
    const std::lock_guard lock(mutex_);
    stats_.last_step_ms = elapsed.count();
    stats_.num_prompt_tokens += num_prompt_tokens_;
    ++stats_.num_steps;
  }
  const bool has_outputs = !outputs_.empty();
  SendOutputs();
  UpdateStats();
  return has_work || has_outputs;
}

void ModelEngine::TakeNotes() {
  std::deque<std::unique_ptr<Live>> submitted;
  std::vector<RequestId> cancelled;
  {
    const std::lock_guard lock(mutex_);
    submitted.swap(submitted_);
    cancelled.swap(cancelled_);
  }
  for (std::unique_ptr<Live>& live : submitted) {
    Admit(std::move(live));
  }
  for (const RequestId id : cancelled) {
    const auto found = live_.find(id);
    if (found != live_.end() && !found->second->is_finished) {
      Finish(found->second.get(), FinishReason::kCancelled, Status());
    }
  }
}

void ModelEngine::Admit(std::unique_ptr<Live> live) {
  const Request& request = live->request;
  const auto num_prompt = static_cast<int64_t>(request.prompt_ids.size());
  live->tokens.reserve(request.prompt_ids.size() + static_cast<size_t>(request.max_tokens));
  live->tokens = request.prompt_ids;
  live->counts = TokenCounts(request.sampling, request.prompt_ids, model_->info().vocab_size);
  live->stage =
      std::make_unique<OutputStage>(tokenizer_, request.stop_strings, request.skip_special_tokens);
  // The last token is never computed, so it takes no place in the cache.
  const Status status = scheduler_.Add(live->id, num_prompt, num_prompt + request.max_tokens);
  Live* pointer = live.get();
  live_.emplace(live->id, std::move(live));
  if (!status.ok()) {
    Finish(pointer, FinishReason::kError, status);
  }
}

void ModelEngine::FillInput(std::span<const ScheduledSequence> batch) {
  tokens_.clear();
  logit_rows_.clear();
  num_sequences_ = 0;
  num_prompt_tokens_ = 0;
  for (const ScheduledSequence& part : batch) {
    const Live& live = *live_.at(part.id);
    const auto num_prompt = static_cast<int64_t>(live.request.prompt_ids.size());
    num_prompt_tokens_ += static_cast<uint64_t>(
        std::clamp<int64_t>(num_prompt - part.start_position, 0, part.num_tokens));
    const auto* first = live.tokens.data() + part.start_position;
    tokens_.insert(tokens_.end(), first, first + part.num_tokens);
    SequenceInput& sequence = sequences_[num_sequences_++];
    sequence.start_position = part.start_position;
    sequence.num_tokens = part.num_tokens;
    std::copy(part.page_tables.begin(), part.page_tables.end(), sequence.page_tables.begin());
    sequence.prompt_tokens = num_prompt;
    sequence.state_slot = part.state_slot;
    const int64_t num_history =
        std::min<int64_t>(model_->info().history_tokens, part.start_position);
    sequence.history = std::span(first - num_history, static_cast<size_t>(num_history));
    if (part.is_last_chunk) {
      logit_rows_.push_back(static_cast<int32_t>(tokens_.size()) - 1);
    }
  }
}

void ModelEngine::SampleAll(std::span<const ScheduledSequence> batch) {
  const auto vocab = static_cast<size_t>(model_->info().vocab_size);
  // Sampling changes the scheduler's lists, so what it needs of the step is kept first.
  std::vector<RequestId> to_sample;
  to_sample.reserve(batch.size());
  for (const ScheduledSequence& part : batch) {
    if (part.is_last_chunk) {
      to_sample.push_back(part.id);
    }
  }
  scheduler_.StepDone();
  for (size_t row = 0; row < to_sample.size(); ++row) {
    Live* live = live_.at(to_sample[row]).get();
    Result<SampledToken> sampled = sampler_.Sample(
        live->request.sampling, live->counts, std::span(logits_).subspan(row * vocab, vocab),
        live->seed, static_cast<uint64_t>(live->num_output()));
    if (sampled.ok()) {
      TakeToken(live, std::move(*sampled));
    } else {
      Finish(live, FinishReason::kError, sampled.status());
    }
  }
}

bool ModelEngine::IsStopToken(const Live& live, int32_t token_id) const {
  if (live.request.ignore_eos) {
    return false;
  }
  const auto has = [token_id](const std::vector<int32_t>& ids) {
    return std::find(ids.begin(), ids.end(), token_id) != ids.end();
  };
  return has(options_.stop_token_ids) || has(live.request.stop_token_ids);
}

RequestOutput& ModelEngine::OutputOf(Live* live) {
  if (live->output_step != stats_.num_steps || live->output_index >= outputs_.size() ||
      outputs_[live->output_index].request != live->id) {
    live->output_step = stats_.num_steps;
    live->output_index = outputs_.size();
    outputs_.emplace_back();
    outputs_.back().request = live->id;
    outputs_.back().num_prompt_tokens = static_cast<int64_t>(live->request.prompt_ids.size());
  }
  return outputs_[live->output_index];
}

void ModelEngine::TakeToken(Live* live, SampledToken sampled) {
  live->tokens.push_back(sampled.token_id);
  live->counts.Add(sampled.token_id);
  RequestOutput& output = OutputOf(live);
  output.num_output_tokens = live->num_output();
  if (IsStopToken(*live, sampled.token_id)) {
    output.stop_token_id = sampled.token_id;
    Finish(live, FinishReason::kStop, Status());
    return;
  }
  TokenOutput token;
  token.token_id = sampled.token_id;
  token.logprob = sampled.logprob;
  token.top = std::move(sampled.top);
  if (live->stage->Push(std::move(token), &output.tokens)) {
    output.stop_string = live->stage->stop_string();
    Finish(live, FinishReason::kStop, Status());
    return;
  }
  if (live->num_output() >= live->request.max_tokens) {
    Finish(live, FinishReason::kLength, Status());
    return;
  }
  scheduler_.Append(live->id);
}

void ModelEngine::Finish(Live* live, FinishReason reason, Status error) {
  if (live->is_finished) {
    return;
  }
  live->is_finished = true;
  scheduler_.Remove(live->id);
  RequestOutput& output = OutputOf(live);
  output.num_output_tokens = live->num_output();
  if (output.stop_string.empty() && reason != FinishReason::kCancelled) {
    if (live->stage->Finish(&output.tokens)) {
      output.stop_string = live->stage->stop_string();
      reason = FinishReason::kStop;
    }
  }
  output.finish = reason;
  output.error = std::move(error);
  finished_.push_back(live->id);
  const std::lock_guard lock(mutex_);
  --num_unfinished_;
  switch (reason) {
    case FinishReason::kStop:
      ++stats_.num_finished_stop;
      break;
    case FinishReason::kLength:
      ++stats_.num_finished_length;
      break;
    case FinishReason::kCancelled:
      ++stats_.num_cancelled;
      break;
    case FinishReason::kError:
      ++stats_.num_failed;
      break;
  }
  stats_.num_output_tokens += static_cast<uint64_t>(live->num_output());
}

void ModelEngine::FailBatch(std::span<const ScheduledSequence> batch, const Status& error) {
  FT_LOG(kError, "a step failed: {}", error.message());
  std::vector<RequestId> ids;
  for (const ScheduledSequence& part : batch) {
    ids.push_back(part.id);
  }
  scheduler_.StepDone();
  for (const RequestId id : ids) {
    Finish(live_.at(id).get(), FinishReason::kError, error);
  }
}

void ModelEngine::SendOutputs() {
  for (const RequestId id : finished_) {
    live_.erase(id);
  }
  finished_.clear();
  if (!outputs_.empty()) {
    std::vector<RequestOutput> outputs;
    outputs.swap(outputs_);
    sink_->OnOutputs(std::move(outputs));
  }
}

void ModelEngine::UpdateStats() {
  const std::lock_guard lock(mutex_);
  stats_.num_running = scheduler_.num_running();
  stats_.num_waiting = scheduler_.num_waiting() + static_cast<int>(submitted_.size());
  stats_.num_pages = scheduler_.num_pages();
  stats_.num_pages_used = scheduler_.num_pages_used();
  stats_.page_size_tokens = options_.scheduler.page_size_tokens;
  stats_.num_preemptions = scheduler_.num_preemptions();
}

EngineInfo ModelEngine::info() const {
  EngineInfo info;
  info.max_model_len = options_.max_model_len;
  info.max_output_tokens =
      options_.max_output_tokens > 0 ? options_.max_output_tokens : options_.max_model_len;
  info.trained_positions = model_->info().max_positions;
  info.max_running_requests = options_.scheduler.max_running;
  info.max_queued_requests = static_cast<int>(options_.scheduler.max_queued);
  return info;
}

EngineStats ModelEngine::stats() const {
  EngineStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats = stats_;
  }
  if (options_.moe_counters) {
    stats.moe = options_.moe_counters();
  }
  return stats;
}

Result<RequestId> ModelEngine::Submit(Request request) {
  const int64_t vocab = model_->info().vocab_size;
  if (request.prompt_ids.empty()) {
    return InvalidArgument("the prompt has no tokens");
  }
  for (const int32_t id : request.prompt_ids) {
    if (id < 0 || id >= vocab) {
      return InvalidArgument("the prompt has token {}, but the vocabulary has ids 0 to {}", id,
                             vocab - 1);
    }
  }
  if (request.max_tokens <= 0) {
    return InvalidArgument("max_tokens is {}; it must be positive", request.max_tokens);
  }
  FT_RETURN_IF_ERROR(ValidateSampling(request.sampling, vocab));
  const auto num_prompt = static_cast<int64_t>(request.prompt_ids.size());
  if (num_prompt + request.max_tokens > options_.max_model_len) {
    return ResourceExhausted(
        "context_length_exceeded: the prompt has {} tokens and {} more were asked for, which is "
        "more "
        "than the served window of {} tokens",
        num_prompt, request.max_tokens, options_.max_model_len);
  }
  auto live = std::make_unique<Live>();
  live->request = std::move(request);
  RequestId id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_draining_) {
      return Unavailable("the server is shutting down");
    }
    const int64_t limit = options_.scheduler.max_queued + options_.scheduler.max_running;
    if (num_unfinished_ >= limit) {
      return Unavailable("the queue is full: {} requests are running or waiting", num_unfinished_);
    }
    ++num_unfinished_;
    id = next_id_++;
    live->id = id;
    live->seed = live->request.sampling.seed.value_or(options_.seed + id);
    submitted_.push_back(std::move(live));
  }
  wake_.notify_all();
  return id;
}

void ModelEngine::Cancel(RequestId request) {
  {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(request);
  }
  wake_.notify_all();
}

void ModelEngine::Drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
}

}  // namespace ft
