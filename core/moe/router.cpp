#include "core/moe/router.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/errors.h"

namespace ft {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr int kMaxGroups = 256;

float NanAsLowest(float value) {
  if (std::isnan(value)) {
    return kLowest;
  }
  return value;
}

// Keeps the best `capacity` values in descending order, earlier offers first among equals. All
// offers are kept until it is full, so that k distinct ids come out whatever the values are.
class BestList {
 public:
  BestList(int capacity, int32_t* ids, float* values)
      : capacity_(capacity), ids_(ids), values_(values) {}

  void Offer(int32_t id, float value) {
    int at = size_;
    if (size_ == capacity_) {
      if (!(value > values_[capacity_ - 1])) {
        return;
      }
      at = capacity_ - 1;
    } else {
      ++size_;
    }
    for (; at > 0 && value > values_[at - 1]; --at) {
      ids_[at] = ids_[at - 1];
      values_[at] = values_[at - 1];
    }
    ids_[at] = id;
    values_[at] = value;
  }

 private:
  int capacity_;
  int size_ = 0;
  int32_t* ids_;
  float* values_;
};

// Softmax in place.
void Softmax(float* values, int count) {
  float largest = kLowest;
  for (int i = 0; i < count; ++i) {
    values[i] = NanAsLowest(values[i]);
    largest = std::max(largest, values[i]);
  }
  if (largest == kLowest) {  // nothing but -inf: no preference
    std::fill_n(values, count, 1.0F / static_cast<float>(count));
    return;
  }
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    values[i] = std::exp(values[i] - largest);
    sum += values[i];
  }
  for (int i = 0; i < count; ++i) {
    values[i] /= sum;
  }
}

// Marks the groups whose experts may be chosen. A group's value is the sum of its two best.
void ChooseGroups(const RouterOptions& options,
                  const float* scores,
                  const float* bias,
                  std::array<bool, kMaxGroups>* is_kept) {
  const int group_size = options.num_experts / options.num_groups;
  std::array<int32_t, kMaxGroups> group_ids{};
  std::array<float, kMaxGroups> group_values{};
  BestList best_groups(options.top_k_groups, group_ids.data(), group_values.data());
  for (int group = 0; group < options.num_groups; ++group) {
    std::array<int32_t, 2> ids{};
    std::array<float, 2> values = {0, 0};
    BestList best_two(std::min(2, group_size), ids.data(), values.data());
    for (int i = 0; i < group_size; ++i) {
      const int expert = group * group_size + i;
      best_two.Offer(expert, NanAsLowest(scores[expert] + (bias != nullptr ? bias[expert] : 0)));
    }
    best_groups.Offer(group, NanAsLowest(values[0] + values[1]));
  }
  is_kept->fill(false);
  for (int i = 0; i < options.top_k_groups; ++i) {
    (*is_kept)[static_cast<size_t>(group_ids[static_cast<size_t>(i)])] = true;
  }
}

void ChooseGroupedSigmoid(
    const RouterOptions& options, float* logits, const float* bias, int32_t* ids, float* weights) {
  const int num_experts = options.num_experts;
  for (int expert = 0; expert < num_experts; ++expert) {
    logits[expert] = 1.0F / (1.0F + std::exp(-logits[expert]));
  }
  std::array<bool, kMaxGroups> is_kept{};
  is_kept.fill(true);
  const bool has_groups = options.top_k_groups < options.num_groups;
  if (has_groups) {
    ChooseGroups(options, logits, bias, &is_kept);
  }
  const int group_size = num_experts / options.num_groups;
  BestList best(options.top_k, ids, weights);
  for (int expert = 0; expert < num_experts; ++expert) {
    if (!has_groups || is_kept[static_cast<size_t>(expert / group_size)]) {
      best.Offer(expert, NanAsLowest(logits[expert] + (bias != nullptr ? bias[expert] : 0)));
    }
  }
  for (int k = 0; k < options.top_k; ++k) {
    weights[k] = logits[ids[k]];  // without the bias
  }
}

void Choose(
    const RouterOptions& options, float* logits, const float* bias, int32_t* ids, float* weights) {
  if (options.kind == RouterKind::kGroupedSigmoid) {
    ChooseGroupedSigmoid(options, logits, bias, ids, weights);
    return;
  }
  if (options.kind == RouterKind::kSoftmaxTopK) {
    Softmax(logits, options.num_experts);
  }
  BestList best(options.top_k, ids, weights);
  for (int expert = 0; expert < options.num_experts; ++expert) {
    best.Offer(expert, NanAsLowest(logits[expert]));
  }
  if (options.kind == RouterKind::kTopKSoftmax) {
    Softmax(weights, options.top_k);
  }
}

}  // namespace

Status CheckRouterOptions(const RouterOptions& options) {
  if (options.num_experts < 1 || options.top_k < 1 || options.top_k > options.num_experts) {
    return InvalidArgument("router: cannot choose {} of {} experts", options.top_k,
                           options.num_experts);
  }
  if (options.kind != RouterKind::kGroupedSigmoid) {
    return Status();
  }
  if (options.num_groups < 1 || options.num_groups > kMaxGroups ||
      options.num_experts % options.num_groups != 0) {
    return InvalidArgument("router: {} experts do not fall into {} equal groups (at most {})",
                           options.num_experts, options.num_groups, kMaxGroups);
  }
  if (options.top_k_groups < 1 || options.top_k_groups > options.num_groups ||
      options.top_k > options.top_k_groups * (options.num_experts / options.num_groups)) {
    return InvalidArgument("router: cannot choose {} experts from {} of {} groups of {}",
                           options.top_k, options.top_k_groups, options.num_groups,
                           options.num_experts / options.num_groups);
  }
  return Status();
}

void TopK(const RouterOptions& options,
          int64_t num_tokens,
          float* logits,
          const float* bias,
          int32_t* ids,
          float* weights) {
  for (int64_t token = 0; token < num_tokens; ++token) {
    float* token_weights = weights + token * options.top_k;
    Choose(options, logits + token * options.num_experts, bias, ids + token * options.top_k,
           token_weights);
    const float scale = static_cast<float>(options.scaling_factor);
    if (options.has_renormalization) {
      float sum = static_cast<float>(options.renormalization_epsilon);
      for (int k = 0; k < options.top_k; ++k) {
        sum += token_weights[k];
      }
      for (int k = 0; k < options.top_k; ++k) {
        token_weights[k] /= sum;
      }
    }
    for (int k = 0; k < options.top_k; ++k) {
      token_weights[k] *= scale;
    }
  }
}

}  // namespace ft
