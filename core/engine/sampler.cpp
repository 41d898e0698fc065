#include "core/engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/errors.h"

namespace ft {
namespace {

constexpr int kMaxLogprobs = 20;  // OpenAI's limit for top_logprobs

uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

Status RangeError(const char* field, double value, const char* range) {
  return InvalidArgument("{} is {}; it must be {}", field, value, range);
}

// Larger logit first; of equals the lower id.
template <typename Candidate>
bool IsBetter(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token_id < b.token_id;
}

double LogSumExp(std::span<const float> logits, float largest) {
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - static_cast<double>(largest));
  }
  return static_cast<double>(largest) + std::log(sum);
}

int32_t ArgMax(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best] || std::isnan(logits[best])) {
      best = i;
    }
  }
  return static_cast<int32_t>(best);
}

}  // namespace

double UniformAt(uint64_t seed, uint64_t index) {
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53: 53 random bits of a double
  return static_cast<double>(Mix(Mix(seed) ^ Mix(~index)) >> 11) * kScale;
}

Status ValidateSampling(const SamplingParams& params, int64_t vocab_size) {
  if (!(params.temperature >= 0 && params.temperature <= 1e4)) {
    return RangeError("temperature", params.temperature, "between 0 and 10000");
  }
  if (!(params.top_p > 0 && params.top_p <= 1)) {
    return RangeError("top_p", params.top_p, "above 0 and at most 1");
  }
  if (!(params.min_p >= 0 && params.min_p <= 1)) {
    return RangeError("min_p", params.min_p, "between 0 and 1");
  }
  if (params.top_k < -1) {
    return RangeError("top_k", static_cast<double>(params.top_k), "-1 or 0 (off), or positive");
  }
  if (!(params.repetition_penalty > 0 && params.repetition_penalty <= 100)) {
    return RangeError("repetition_penalty", params.repetition_penalty, "above 0 and at most 100");
  }
  if (!(std::fabs(params.presence_penalty) <= 2)) {
    return RangeError("presence_penalty", params.presence_penalty, "between -2 and 2");
  }
  if (!(std::fabs(params.frequency_penalty) <= 2)) {
    return RangeError("frequency_penalty", params.frequency_penalty, "between -2 and 2");
  }
  if (params.num_logprobs > kMaxLogprobs) {
    return RangeError("top_logprobs", params.num_logprobs, "at most 20");
  }
  for (const auto& [token_id, bias] : params.logit_bias) {
    if (token_id < 0 || token_id >= vocab_size) {
      return InvalidArgument("logit_bias names token {}, but the vocabulary has ids 0 to {}",
                             token_id, vocab_size - 1);
    }
    if (!(std::fabs(bias) <= 100)) {
      return RangeError("logit_bias", bias, "between -100 and 100");
    }
  }
  return Status();
}

TokenCounts::TokenCounts(const SamplingParams& params,
                         std::span<const int32_t> prompt,
                         int64_t vocab_size) {
  if (params.repetition_penalty == 1.0 && params.presence_penalty == 0.0 &&
      params.frequency_penalty == 0.0) {
    return;
  }
  output_.resize(static_cast<size_t>(vocab_size));
  in_prompt_.resize(static_cast<size_t>(vocab_size));
  for (const int32_t token_id : prompt) {
    in_prompt_[static_cast<size_t>(token_id)] = true;
  }
}

void TokenCounts::Add(int32_t token_id) {
  if (is_active()) {
    ++output_[static_cast<size_t>(token_id)];
  }
}

void TokenCounts::Apply(const SamplingParams& params, std::span<float> logits) const {
  if (!is_active()) {
    return;
  }
  const auto repetition = static_cast<float>(params.repetition_penalty);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (output_[i] > 0 || in_prompt_[i]) {
      logits[i] = logits[i] > 0 ? logits[i] / repetition : logits[i] * repetition;
    }
    if (output_[i] > 0) {
      logits[i] -= static_cast<float>(params.presence_penalty +
                                      params.frequency_penalty * static_cast<double>(output_[i]));
    }
  }
}

Sampler::Sampler(int64_t vocab_size) {
  FT_CHECK(vocab_size > 0);
  candidates_.reserve(static_cast<size_t>(vocab_size));
}

Result<SampledToken> Sampler::Sample(const SamplingParams& params,
                                     const TokenCounts& counts,
                                     std::span<float> logits,
                                     uint64_t seed,
                                     uint64_t draw_index) {
  SampledToken result;
  const int32_t raw_best = ArgMax(logits);
  const float largest = logits[static_cast<size_t>(raw_best)];
  if (!std::isfinite(largest)) {
    return Internal("the model's logits for output token {} are not finite ({})", draw_index,
                    largest);
  }
  double log_sum = 0;
  if (params.num_logprobs >= 0) {
    log_sum = LogSumExp(logits, largest);
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i) {
      candidates_.push_back({logits[i], static_cast<int32_t>(i)});
    }
    const auto wanted = std::min(static_cast<size_t>(params.num_logprobs), candidates_.size());
    std::partial_sort(candidates_.begin(),
                      candidates_.begin() + static_cast<std::ptrdiff_t>(wanted), candidates_.end(),
                      IsBetter<Candidate>);
    for (size_t i = 0; i < wanted; ++i) {
      result.top.push_back(
          {candidates_[i].token_id, static_cast<double>(candidates_[i].logit) - log_sum});
    }
  }
  // The chosen token's raw logit is needed after the changes below; biases and penalties are rare.
  const bool changes_logits = !params.logit_bias.empty() || counts.is_active();
  std::vector<float> raw;
  if (changes_logits && params.num_logprobs >= 0) {
    raw.assign(logits.begin(), logits.end());
  }
  for (const auto& [token_id, bias] : params.logit_bias) {
    logits[static_cast<size_t>(token_id)] += static_cast<float>(bias);
  }
  counts.Apply(params, logits);
  result.token_id = params.temperature == 0.0 ? ArgMax(logits)
                                              : Draw(params, logits, UniformAt(seed, draw_index));
  if (params.num_logprobs >= 0) {
    const auto index = static_cast<size_t>(result.token_id);
    result.logprob = static_cast<double>(raw.empty() ? logits[index] : raw[index]) - log_sum;
  }
  return result;
}

int32_t Sampler::Draw(const SamplingParams& params, std::span<const float> logits, double uniform) {
  const float largest = logits[static_cast<size_t>(ArgMax(logits))];
  const double inverse = 1.0 / params.temperature;
  const auto weight = [&](float logit) {
    return std::exp((static_cast<double>(logit) - static_cast<double>(largest)) * inverse);
  };
  candidates_.clear();
  // min_p compares with the largest probability: known now, so the rest need not be sorted.
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == logits[i] && weight(logits[i]) >= params.min_p) {
      candidates_.push_back({logits[i], static_cast<int32_t>(i)});
    }
  }
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < candidates_.size()) {
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(params.top_k);
    std::nth_element(candidates_.begin(), end - 1, candidates_.end(), IsBetter<Candidate>);
    candidates_.resize(static_cast<size_t>(params.top_k));
  }
  double total = 0;
  if (params.top_p < 1.0) {
    std::sort(candidates_.begin(), candidates_.end(), IsBetter<Candidate>);
    for (const Candidate& candidate : candidates_) {
      total += weight(candidate.logit);
    }
    // The smallest set of the likeliest tokens whose probabilities add up to at least top_p.
    double kept = 0;
    size_t count = 0;
    while (count < candidates_.size() && kept < params.top_p * total) {
      kept += weight(candidates_[count].logit);
      ++count;
    }
    candidates_.resize(std::max<size_t>(count, 1));
    total = kept;
  } else {
    for (const Candidate& candidate : candidates_) {
      total += weight(candidate.logit);
    }
  }
  double left = uniform * total;
  for (const Candidate& candidate : candidates_) {
    left -= weight(candidate.logit);
    if (left < 0) {
      return candidate.token_id;
    }
  }
  return candidates_.back().token_id;  // rounding: uniform so close to 1 that nothing is left
}

}  // namespace ft
