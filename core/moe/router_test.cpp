#include "core/moe/router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ft {
namespace {

struct Chosen {
  std::vector<int32_t> ids;
  std::vector<double> weights;
};

// models.md §0.5 in double, with sorts.
Chosen Reference(const RouterOptions& options,
                 const std::vector<float>& logits,
                 const std::vector<float>& bias) {
  const auto count = static_cast<size_t>(options.num_experts);
  std::vector<double> scores(logits.begin(), logits.end());
  const auto softmax = [](std::vector<double> values) {
    double sum = 0;
    const double largest = *std::max_element(values.begin(), values.end());
    for (double& value : values) {
      sum += value = std::exp(value - largest);
    }
    for (double& value : values) {
      value /= sum;
    }
    return values;
  };
  if (options.kind == RouterKind::kSoftmaxTopK) {
    scores = softmax(scores);
  }
  if (options.kind == RouterKind::kGroupedSigmoid) {
    for (double& score : scores) {
      score = 1 / (1 + std::exp(-score));
    }
  }
  std::vector<double> choice = scores;
  for (size_t i = 0; i < bias.size(); ++i) {
    choice[i] += static_cast<double>(bias[i]);
  }
  std::vector<bool> is_open(count, true);
  if (options.kind == RouterKind::kGroupedSigmoid) {
    const size_t size = count / static_cast<size_t>(options.num_groups);
    std::vector<std::pair<double, size_t>> groups;
    for (size_t group = 0; group < static_cast<size_t>(options.num_groups); ++group) {
      std::vector<double> members(
          choice.begin() + static_cast<std::ptrdiff_t>(group * size),
          choice.begin() + static_cast<std::ptrdiff_t>(group * size + size));
      std::sort(members.rbegin(), members.rend());
      groups.emplace_back(-(members[0] + (size > 1 ? members[1] : 0)), group);
    }
    std::sort(groups.begin(), groups.end());
    is_open.assign(count, false);
    for (size_t i = 0; i < static_cast<size_t>(options.top_k_groups); ++i) {
      std::fill_n(is_open.begin() + static_cast<std::ptrdiff_t>(groups[i].second * size), size,
                  true);
    }
  }
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int32_t id) { return !is_open[static_cast<size_t>(id)]; });
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return choice[static_cast<size_t>(a)] > choice[static_cast<size_t>(b)];
  });
  Chosen chosen;
  for (size_t k = 0; k < static_cast<size_t>(options.top_k); ++k) {
    chosen.ids.push_back(order[k]);
    chosen.weights.push_back(scores[static_cast<size_t>(order[k])]);
  }
  if (options.kind == RouterKind::kTopKSoftmax) {
    chosen.weights = softmax(chosen.weights);
  }
  const double sum = options.has_renormalization
                         ? std::accumulate(chosen.weights.begin(), chosen.weights.end(),
                                           options.renormalization_epsilon)
                         : 1;
  for (double& weight : chosen.weights) {
    weight *= options.scaling_factor / sum;
  }
  return chosen;
}

TEST(RouterTest, AllKindsEqualTheReference) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (int run = 0; run < 500; ++run) {
    RouterOptions options;
    options.kind = static_cast<RouterKind>(run % 3);
    options.num_groups = 1 << (random() % 3);
    options.num_experts = options.num_groups * (1 + static_cast<int>(random() % 32));
    options.top_k_groups =
        1 + static_cast<int>(random() % static_cast<unsigned>(options.num_groups));
    const int open = options.kind == RouterKind::kGroupedSigmoid
                         ? options.num_experts / options.num_groups * options.top_k_groups
                         : options.num_experts;
    options.top_k = 1 + static_cast<int>(random() % static_cast<unsigned>(std::min(open, 8)));
    options.has_renormalization = random() % 2 == 0;
    options.renormalization_epsilon = 1e-20;
    options.scaling_factor = random() % 2 == 0 ? 1 : 2.5;
    ASSERT_TRUE(CheckRouterOptions(options).ok());
    std::vector<float> bias;
    if (options.kind == RouterKind::kGroupedSigmoid && random() % 2 == 0) {
      bias.resize(static_cast<size_t>(options.num_experts));
      std::generate(bias.begin(), bias.end(), [&] { return normal(random) * 0.1F; });
    }
    std::vector<float> logits(static_cast<size_t>(options.num_experts));
    std::generate(logits.begin(), logits.end(), [&] { return normal(random) * 2; });
    const Chosen expected = Reference(options, logits, bias);
    std::vector<int32_t> ids(static_cast<size_t>(options.top_k));
    std::vector<float> weights(ids.size());
    TopK(options, 1, logits.data(), bias.empty() ? nullptr : bias.data(), ids.data(),
         weights.data());
    EXPECT_EQ(ids, expected.ids) << "run " << run;
    for (size_t k = 0; k < weights.size(); ++k) {
      EXPECT_NEAR(weights[k], expected.weights[k], 2e-6 * options.scaling_factor) << "run " << run;
    }
  }
}

TEST(RouterTest, TiesGoToTheLowerExpertAndNanComesLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RouterKind kind :
       {RouterKind::kSoftmaxTopK, RouterKind::kTopKSoftmax, RouterKind::kGroupedSigmoid}) {
    RouterOptions options;
    options.kind = kind;
    options.num_experts = 5;
    options.top_k = 4;
    std::vector<float> logits = {nan, 1, 2, 1, 2};
    std::vector<int32_t> ids(4);
    std::vector<float> weights(4);
    TopK(options, 1, logits.data(), nullptr, ids.data(), weights.data());
    EXPECT_EQ(ids, (std::vector<int32_t>{2, 4, 1, 3}));
    logits = {nan, nan, nan, nan, nan};
    TopK(options, 1, logits.data(), nullptr, ids.data(), weights.data());
    EXPECT_EQ(ids, (std::vector<int32_t>{0, 1, 2, 3}));
  }
}

TEST(RouterTest, RefusesCountsOutOfRange) {
  RouterOptions options;
  options.num_experts = 8;
  options.top_k = 9;
  EXPECT_EQ(CheckRouterOptions(options).code(), StatusCode::kInvalidArgument);
  options.top_k = 4;
  EXPECT_TRUE(CheckRouterOptions(options).ok());
  options.kind = RouterKind::kGroupedSigmoid;
  options.num_groups = 3;
  EXPECT_EQ(CheckRouterOptions(options).code(), StatusCode::kInvalidArgument);
  options.num_groups = 4;
  options.top_k_groups = 1;
  EXPECT_EQ(CheckRouterOptions(options).code(), StatusCode::kInvalidArgument);
  options.top_k_groups = 2;
  EXPECT_TRUE(CheckRouterOptions(options).ok());
}

}  // namespace
}  // namespace ft
