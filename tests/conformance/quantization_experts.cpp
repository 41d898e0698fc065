#include "tests/conformance/quantization_experts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "core/base/thread_pool.h"
#include "core/quant/exec.h"

namespace ft {
namespace {

bool IsGated(const ExpertSpec& spec) {
  return (spec.flags & FT_EXPERT_GATED) != 0;
}

// From the words of ft/plugin/quantization.h, not from the code under test.
double Activate(const ExpertSpec& spec, double gate, double up) {
  if (spec.act_limit > 0) {
    gate = std::min(gate, spec.act_limit);
    up = std::clamp(up, -spec.act_limit, spec.act_limit);
  }
  const auto single = [&spec](double v) {
    switch (spec.activation) {
      case FT_ACT_GELU:
        return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
      case FT_ACT_GELU_TANH:
        return 0.5 * v * (1 + std::tanh(std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v)));
      case FT_ACT_RELU2:
        return std::max(v, 0.0) * std::max(v, 0.0);
      default:
        return v / (1 + std::exp(-v));
    }
  };
  if (spec.activation == FT_ACT_SWIGLU_OAI) {
    return (up + 1) * gate / (1 + std::exp(-spec.act_alpha * gate));
  }
  return IsGated(spec) ? single(gate) * up : single(up);
}

// Sum of a row times x, and the bound on what a kernel may be off.
Bounded RowTimes(
    const Sample& matrix, int64_t row, const std::vector<double>& x, double bias, double bound) {
  Bounded result{bias, 0};
  double magnitude = std::abs(bias);
  for (int64_t c = 0; c < matrix.cols; ++c) {
    const double term =
        static_cast<double>(matrix.expected[static_cast<size_t>(row * matrix.cols + c)]) *
        x[static_cast<size_t>(c)];
    result.value += term;
    magnitude += std::abs(term);
  }
  result.slack = bound * magnitude;
  return result;
}

double At(const std::vector<float>& values, int64_t i) {
  return values.empty() ? 0.0 : static_cast<double>(values[static_cast<size_t>(i)]);
}

}  // namespace

ft_expert_kind KindOf(const ExpertSpec& spec) {
  ft_expert_kind kind = {};
  kind.hdr = {sizeof(kind), FT_TAG_EXPERT_KIND, nullptr};
  kind.hidden_dim = spec.hidden_dim;
  kind.intermediate_dim = spec.intermediate_dim;
  kind.n_experts = 4;
  kind.top_k = 2;
  kind.flags = spec.flags;
  kind.activation = spec.activation;
  kind.act_alpha = spec.act_alpha;
  kind.act_limit = spec.act_limit;
  kind.gate_up_format = {spec.format.data(), spec.format.size()};
  kind.down_format = kind.gate_up_format;
  return kind;
}

Expert MakeExpert(const Quantization& quantization, const ExpertSpec& spec, std::mt19937* random) {
  Expert expert;
  const int64_t wide = spec.hidden_dim;
  const int64_t inner = spec.intermediate_dim;
  expert.gate = MakeSample(spec.format, 0, inner, wide, random);
  expert.up = MakeSample(spec.format, NumSpellings(spec.format) - 1, inner, wide, random);
  expert.down = MakeSample(spec.format, 0, wide, inner, random);
  if ((spec.flags & FT_EXPERT_BIAS) != 0) {
    expert.gate_bias = RandomFloats(inner, random);
    expert.up_bias = RandomFloats(inner, random);
    expert.down_bias = RandomFloats(wide, random);
  }
  ft_expert_parts parts = {};
  parts.hdr = {sizeof(parts), FT_TAG_EXPERT_PARTS, nullptr};
  std::vector<std::unique_ptr<Sample::Packable>> packables;
  const auto take = [&](const Sample& sample) {
    const auto match = quantization.Match("test", sample.Infos());
    EXPECT_TRUE(match.ok() && match->verdict == FT_MATCH_YES);
    packables.push_back(sample.ForPack(*match));
    return packables.back()->parts;
  };
  if (IsGated(spec)) {
    parts.gate = take(expert.gate);
  }
  parts.up = take(expert.up);
  parts.down = take(expert.down);
  parts.gate_bias = expert.gate_bias.empty() ? nullptr : expert.gate_bias.data();
  parts.up_bias = expert.up_bias.empty() ? nullptr : expert.up_bias.data();
  parts.down_bias = expert.down_bias.empty() ? nullptr : expert.down_bias.data();
  const ft_expert_kind kind = KindOf(spec);
  const auto bytes = quantization.ExpertBytes(kind);
  if (!bytes.ok()) {
    ADD_FAILURE() << bytes.status().message();
    return expert;
  }
  expert.packed.resize(*bytes);
  const Status status =
      quantization.PackExpert(kind, parts, expert.packed.data(), expert.packed.size());
  EXPECT_TRUE(status.ok()) << status.message();
  return expert;
}

std::vector<Bounded> OracleExpert(const ExpertSpec& spec,
                                  const Expert& expert,
                                  const float* x,
                                  float route_weight,
                                  double bound) {
  const bool is_on_input = (spec.flags & FT_EXPERT_WEIGHT_ON_INPUT) != 0;
  const double weight = static_cast<double>(route_weight);
  std::vector<double> input;
  for (int64_t c = 0; c < spec.hidden_dim; ++c) {
    input.push_back(static_cast<double>(x[c]) * (is_on_input ? weight : 1.0));
  }
  std::vector<double> hidden;
  std::vector<double> hidden_slack;
  for (int64_t i = 0; i < spec.intermediate_dim; ++i) {
    const Bounded gate = RowTimes(expert.gate, i, input, At(expert.gate_bias, i), bound);
    const Bounded up = RowTimes(expert.up, i, input, At(expert.up_bias, i), bound);
    const double value = Activate(spec, gate.value, up.value);
    // The activations are smooth or monotonous on such short ways: the corners tell the range. The
    // last term is the rounding of the activation itself.
    double slack = 0;
    for (const double g : {-1.0, 1.0}) {
      for (const double u : {-1.0, 1.0}) {
        slack = std::max(
            slack,
            std::abs(Activate(spec, gate.value + g * gate.slack, up.value + u * up.slack) - value));
      }
    }
    hidden.push_back(value);
    hidden_slack.push_back(1.5 * slack + 1e-6 * std::abs(value) + 1e-6 * std::abs(up.value));
  }
  std::vector<Bounded> result;
  for (int64_t h = 0; h < spec.hidden_dim; ++h) {
    Bounded sum = RowTimes(expert.down, h, hidden, At(expert.down_bias, h), bound);
    for (int64_t i = 0; i < spec.intermediate_dim; ++i) {
      sum.slack += hidden_slack[static_cast<size_t>(i)] *
                   std::abs(static_cast<double>(
                       expert.down.expected[static_cast<size_t>(h * spec.intermediate_dim + i)]));
    }
    const double factor = is_on_input ? 1.0 : weight;
    result.push_back({sum.value * factor, sum.slack * std::abs(factor) + 1e-37});
  }
  return result;
}

std::vector<float> RunJobs(const Quantization& quantization,
                           const ExpertSpec& spec,
                           const std::vector<Job>& jobs,
                           const std::vector<float>& x,
                           int64_t num_routes,
                           int num_workers,
                           bool use_reference) {
  ThreadPool pool(num_workers);
  const ft_exec exec = MakeExec(&pool);
  const ft_expert_kind kind = KindOf(spec);
  std::vector<ft_expert_job> raw;
  int64_t total_rows = 0;
  for (const Job& job : jobs) {
    raw.push_back({job.expert->packed.data(), static_cast<int64_t>(job.tokens.size()),
                   job.tokens.data(), job.routes.data(), job.weights.data()});
    total_rows += raw.back().n_rows;
  }
  std::vector<float> y(static_cast<size_t>(num_routes * spec.hidden_dim), -7.0F);
  const auto bytes =
      quantization.ExpertScratchBytes(kind, total_rows, static_cast<uint32_t>(num_workers));
  EXPECT_TRUE(bytes.ok());
  const size_t room = (*bytes + 63) / 64 * 64;
  void* scratch = std::aligned_alloc(64, std::max<size_t>(room, 64));
  ft_expert_mlp_args args = {};
  args.hdr = {sizeof(args), FT_TAG_EXPERT_ARGS, nullptr};
  args.kind = &kind;
  args.mode = FT_COMPUTE_EXACT;
  args.n_jobs = static_cast<uint32_t>(raw.size());
  args.jobs = raw.data();
  args.x = x.data();
  args.x_stride = spec.hidden_dim;
  args.y = y.data();
  args.y_stride = spec.hidden_dim;
  args.scratch = scratch;
  args.scratch_bytes = *bytes;
  args.exec = &exec;
  const Status status =
      use_reference ? quantization.ExpertMlpReference(args) : quantization.ExpertMlp(args);
  EXPECT_TRUE(status.ok()) << status.message();
  std::free(scratch);
  return y;
}

}  // namespace ft
