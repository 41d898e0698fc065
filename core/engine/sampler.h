// Sampler: logits of one position to a token. Pure in its inputs: the same request, seed and
// position give the same token, whoever shares the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/engine/engine.h"

namespace ft {

/// Errors: kInvalidArgument naming the field, the value and the range it may have.
Status ValidateSampling(const SamplingParams& params, int64_t vocab_size);

/// What a sequence's penalties need to know. Sized once per sequence, only where penalties are on.
class TokenCounts {
 public:
  TokenCounts() = default;

  /// Counts `prompt` as seen; nothing is kept when `params` has no penalty.
  TokenCounts(const SamplingParams& params, std::span<const int32_t> prompt, int64_t vocab_size);

  /// A token was generated.
  void Add(int32_t token_id);

  bool is_active() const { return !output_.empty(); }

  /// Applies repetition (over prompt and output, as transformers does), presence and frequency
  /// (over the output, as OpenAI does) penalties.
  /// `logits`  [vocab_size], changed in place
  void Apply(const SamplingParams& params, std::span<float> logits) const;

 private:
  std::vector<uint32_t> output_;  // [vocab_size] times generated
  std::vector<bool> in_prompt_;   // [vocab_size]
};

struct SampledToken {
  int32_t token_id = 0;
  double logprob = 0;             ///< log softmax of the raw logits; only with num_logprobs >= 0
  std::vector<TokenLogprob> top;  ///< best first; only with num_logprobs > 0
};

/// Scratch for one engine; reused for every token.
class Sampler {
 public:
  explicit Sampler(int64_t vocab_size);

  /// Order: logprobs of the raw logits; logit_bias; penalties; temperature; top_k; top_p; min_p;
  /// draw. Temperature 0 takes the largest (the lowest id of equals). `logits`  [vocab_size],
  /// overwritten as scratch. `draw_index`: how many tokens came before. Errors: kInternal when no
  /// logit is finite (NaN from a broken model), naming the position.
  Result<SampledToken> Sample(const SamplingParams& params,
                              const TokenCounts& counts,
                              std::span<float> logits,
                              uint64_t seed,
                              uint64_t draw_index);

 private:
  struct Candidate {
    float logit;
    int32_t token_id;
  };

  int32_t Draw(const SamplingParams& params, std::span<const float> logits, double uniform);

  std::vector<Candidate> candidates_;  // [vocab_size]
};

/// A uniform number in [0, 1) for (seed, index): counter-based, so that draws need no state.
/// Source: splitmix64 (Steele, Lea, Flood 2014).
double UniformAt(uint64_t seed, uint64_t index);

}  // namespace ft
