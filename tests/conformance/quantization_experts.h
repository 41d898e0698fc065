// Whole experts for conformance tests: random weights of a kind, their packed form, and an oracle
// in double that knows how far a kernel within its bound may be off.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ft/plugin/quantization.h"

#include "core/quant/quantization.h"
#include "tests/conformance/quantization_samples.h"

namespace ft {

/// What a test varies about an expert.
struct ExpertSpec {
  std::string format;
  int64_t hidden_dim = 64;
  int64_t intermediate_dim = 96;
  uint32_t flags = FT_EXPERT_GATED;
  uint32_t activation = FT_ACT_SILU;
  double act_alpha = 0;
  double act_limit = 0;
};

/// The kind of `spec`; its strings borrow from `spec`.
ft_expert_kind KindOf(const ExpertSpec& spec);

struct Expert {
  Sample gate, up, down;
  std::vector<float> gate_bias, up_bias, down_bias;
  std::vector<uint8_t> packed;
};

/// Random weights, packed by the format. Fails the test when that fails.
Expert MakeExpert(const Quantization& quantization, const ExpertSpec& spec, std::mt19937* random);

/// One value of the result and how far off it may be.
struct Bounded {
  double value = 0;
  double slack = 0;
};

/// route_weight · expert(x) for one token: [hidden_dim]. `bound` is the format's for one product.
std::vector<Bounded> OracleExpert(
    const ExpertSpec& spec, const Expert& expert, const float* x, float route_weight, double bound);

/// Who goes where; indices into x and y.
struct Job {
  const Expert* expert = nullptr;
  std::vector<int32_t> tokens;
  std::vector<int32_t> routes;
  std::vector<float> weights;
};

/// Runs the jobs in one call; y is [num_routes, hidden_dim], -7 where nothing was written.
std::vector<float> RunJobs(const Quantization& quantization,
                           const ExpertSpec& spec,
                           const std::vector<Job>& jobs,
                           const std::vector<float>& x,
                           int64_t num_routes,
                           int num_workers,
                           bool use_reference = false);

}  // namespace ft
