// Eval: one sequence at a time through the paged cache.
#include "core/engine/eval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/base/errors.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/kv_memory/kv_memory.h"

namespace ft {
namespace {

// NaN from broken weights would be a plausible number in nobody's eyes but a program's.
Status CheckFinite(std::span<const float> logits, int64_t vocab, int64_t first_position) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      const auto at = static_cast<int64_t>(i);
      return FailedPrecondition(
          "the model's logit of token {} at position {} is {}: the weights hold values that are no "
          "numbers, or are too large for this arithmetic",
          at % vocab, first_position + at / vocab, logits[i]);
    }
  }
  return Status();
}

// One sequence with its own cache, large enough for `max_tokens`.
class Runner {
 public:
  static Result<Runner> Create(Model* model, int64_t max_tokens, const EvalOptions& options) {
    if (options.chunk_tokens < 0 || options.page_size_tokens <= 0) {
      return InvalidArgument("eval: {} tokens per chunk, {} per page", options.chunk_tokens,
                             options.page_size_tokens);
    }
    const int64_t num_pages =
        (max_tokens + options.page_size_tokens - 1) / options.page_size_tokens;
    const ModelInfo& info = model->info();
    Runner runner;
    runner.model_ = model;
    runner.options_ = options;
    runner.chunk_ = std::min(model->max_tokens(), model->max_logit_rows());
    if (options.chunk_tokens > 0) {
      runner.chunk_ = std::min(runner.chunk_, options.chunk_tokens);
    }
    KvMemoryOptions kv;
    kv.page_size_tokens = options.page_size_tokens;
    kv.num_pages.assign(info.cache_groups.size(), num_pages);
    kv.num_state_slots = 1;
    FT_ASSIGN_OR_RETURN(runner.kv_, KvMemory::Create(info.cache_groups, info.recurrent_blocks, kv));
    runner.pages_.resize(static_cast<size_t>(num_pages));
    std::iota(runner.pages_.begin(), runner.pages_.end(), 0);
    runner.rows_.resize(static_cast<size_t>(runner.chunk_));
    std::iota(runner.rows_.begin(), runner.rows_.end(), 0);
    return runner;
  }

  // Runs `ids` from position `start` on, in chunks; all their logits [ids.size(), vocab].
  Status Run(int64_t start, std::span<const int32_t> ids, int64_t prompt_tokens, float* logits) {
    const int64_t vocab = model_->info().vocab_size;
    for (size_t done = 0; done < ids.size();) {
      const size_t count = std::min(ids.size() - done, static_cast<size_t>(chunk_));
      SequenceInput sequence;
      sequence.start_position = start + static_cast<int64_t>(done);
      sequence.num_tokens = static_cast<int32_t>(count);
      sequence.page_tables.assign(kv_->groups().size(), pages_);
      sequence.prompt_tokens = prompt_tokens;
      sequence.state_slot = model_->info().recurrent_blocks.empty() ? -1 : 0;
      const auto history = static_cast<size_t>(model_->info().history_tokens);
      sequence.history = ids.subspan(done - std::min(done, history), std::min(done, history));
      ForwardInput input;
      input.tokens = ids.subspan(done, count);
      input.sequences = {&sequence, 1};
      input.logit_rows = {rows_.data(), count};
      input.compute_mode = options_.compute_mode;
      input.is_deterministic = options_.is_deterministic;
      float* out = logits + static_cast<int64_t>(done) * vocab;
      FT_RETURN_IF_ERROR(model_->Forward(input, kv_.get(), out));
      FT_RETURN_IF_ERROR(
          CheckFinite({out, count * static_cast<size_t>(vocab)}, vocab, sequence.start_position));
      done += count;
    }
    return {};
  }

  void Restart() {
    if (!model_->info().recurrent_blocks.empty()) {
      kv_->ClearState(0);
    }
  }

 private:
  Model* model_ = nullptr;
  EvalOptions options_;
  int64_t chunk_ = 0;
  std::unique_ptr<KvMemory> kv_;
  std::vector<int32_t> pages_;  // 0, 1, 2, …
  std::vector<int32_t> rows_;   // the same
};

// Minus the log of the softmax at `target`.
double NegativeLogLikelihood(std::span<const float> logits, int32_t target) {
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - largest);
  }
  return largest + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(target)]);
}

}  // namespace

Result<LogitsResult> EvalLogits(LoadedModel* loaded,
                                std::span<const int32_t> ids,
                                int64_t num_greedy,
                                const EvalOptions& options) {
  if (ids.empty() || num_greedy < 0) {
    return InvalidArgument("eval logits: want at least one id, and 0 or more greedy tokens");
  }
  Model* model = loaded->model();
  LogitsResult result;
  result.num_tokens = static_cast<int64_t>(ids.size());
  result.vocab_size = model->info().vocab_size;
  FT_ASSIGN_OR_RETURN(Runner runner,
                      Runner::Create(model, result.num_tokens + num_greedy, options));
  result.logits.resize(ids.size() * static_cast<size_t>(result.vocab_size));
  FT_RETURN_IF_ERROR(runner.Run(0, ids, result.num_tokens, result.logits.data()));
  std::vector<float> row(result.logits.end() - result.vocab_size, result.logits.end());
  std::vector<int32_t> all(ids.begin(), ids.end());
  for (int64_t i = 0; i < num_greedy; ++i) {
    const auto best = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    result.greedy.push_back(best);
    if (i + 1 < num_greedy) {
      FT_RETURN_IF_ERROR(
          runner.Run(result.num_tokens + i, {&best, 1}, result.num_tokens, row.data()));
    }
  }
  return result;
}

Status WriteLogits(const std::string& path, const LogitsResult& result) {
  std::vector<NamedTensor> tensors;
  if (!result.greedy.empty()) {
    tensors.push_back(
        {"greedy",
         {result.greedy.data(), DType::kI64, {static_cast<int64_t>(result.greedy.size())}}});
  }
  tensors.push_back(
      {"logits", {result.logits.data(), DType::kF32, {result.num_tokens, result.vocab_size}}});
  return WriteSafetensors(path, tensors);
}

Result<PerplexityResult> EvalPerplexity(LoadedModel* loaded,
                                        std::span<const int32_t> ids,
                                        int64_t context_tokens,
                                        const EvalOptions& options) {
  if (context_tokens < 2 || static_cast<int64_t>(ids.size()) < context_tokens) {
    return InvalidArgument(
        "eval perplexity: the text has {} tokens, a window of {} needs at least as many, and two",
        ids.size(), context_tokens);
  }
  Model* model = loaded->model();
  const auto context = static_cast<size_t>(context_tokens);
  const auto vocab = static_cast<size_t>(model->info().vocab_size);
  FT_ASSIGN_OR_RETURN(Runner runner, Runner::Create(model, context_tokens, options));
  PerplexityResult result;
  result.num_tokens = static_cast<int64_t>(ids.size());
  std::vector<float> logits(context * vocab);
  double sum = 0;
  for (size_t begin = 0; begin + context <= ids.size(); begin += context) {
    const std::span<const int32_t> window = ids.subspan(begin, context);
    runner.Restart();
    FT_RETURN_IF_ERROR(runner.Run(0, window, context_tokens, logits.data()));
    for (size_t i = 1; i < context; ++i) {
      sum += NegativeLogLikelihood({logits.data() + (i - 1) * vocab, vocab}, window[i]);
    }
    ++result.num_windows;
  }
  result.num_scored_tokens = result.num_windows * (context_tokens - 1);
  result.mean_nll = sum / static_cast<double>(result.num_scored_tokens);
  result.perplexity = std::exp(result.mean_nll);
  return result;
}

}  // namespace ft
