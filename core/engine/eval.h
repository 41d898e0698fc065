// Eval: runs a loaded model on given ids and reports its numbers: the logic of `ft eval`. The very
// Forward that serves, with chosen chunk and page sizes. No tokenizer, no sampling but greedy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/model_loader.h"

namespace ft {

struct EvalOptions {
  uint32_t compute_mode = 0;  ///< FT_COMPUTE_*
  int64_t chunk_tokens = 0;   ///< prompt tokens per Forward; 0 = the model's max_tokens
  int64_t page_size_tokens = 16;
  bool is_deterministic = false;
};

struct LogitsResult {
  int64_t num_tokens = 0;
  int64_t vocab_size = 0;
  std::vector<float> logits;    ///< [num_tokens, vocab_size] of the prompt
  std::vector<int64_t> greedy;  ///< [num_greedy]: continued through the KV cache
};

/// Logits of every position of `ids`, and then `num_greedy` tokens, each the largest logit (the
/// lowest id among equals). Stop ids do not stop it.
/// Errors: kInvalidArgument for no ids, or ids outside the vocabulary; those of Forward.
Result<LogitsResult> EvalLogits(LoadedModel* loaded,
                                std::span<const int32_t> ids,
                                int64_t num_greedy,
                                const EvalOptions& options);

/// Writes `logits` f32 [T, V] and, when there is any, `greedy` i64 [N] as safetensors.
Status WriteLogits(const std::string& path, const LogitsResult& result);

struct PerplexityResult {
  double perplexity = 0;  ///< exp of the mean negative log likelihood
  double mean_nll = 0;
  int64_t num_tokens = 0;  ///< of the text
  int64_t num_scored_tokens = 0;
  int64_t num_windows = 0;
};

/// Consecutive windows of `context_tokens`; the first token of a window is not scored, the last
/// partial window is dropped.
/// Errors: kInvalidArgument when there is no whole window or context_tokens < 2.
Result<PerplexityResult> EvalPerplexity(LoadedModel* loaded,
                                        std::span<const int32_t> ids,
                                        int64_t context_tokens,
                                        const EvalOptions& options);

}  // namespace ft
