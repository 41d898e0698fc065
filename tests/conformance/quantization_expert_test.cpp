// Every weight format's expert against an oracle in double, for every activation, and its bits when
// jobs, rows and workers change.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/conformance/quantization_experts.h"
#include "tests/conformance/quantization_formats.h"
#include "tests/conformance/quantization_samples.h"

namespace ft {
namespace {

class QuantizationExpertTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (NumSpellings(GetParam()) == 0) {
      GTEST_SKIP() << "no samples for format " << GetParam() << ": extend quantization_samples.cpp";
    }
  }

  const Quantization& quantization() const { return *AllFormats().Find(GetParam()); }

  ExpertSpec Spec(uint32_t activation, uint32_t flags) const {
    ExpertSpec spec;
    spec.format = GetParam();
    spec.activation = activation;
    spec.flags = flags;
    return spec;
  }

  // One expert, three tokens in mixed order, by the kernel and by the reference.
  void ExpectRight(const ExpertSpec& spec, float x_scale = 1.0F) {
    const Expert expert = MakeExpert(quantization(), spec, &random_);
    std::vector<float> x = RandomFloats(5 * spec.hidden_dim, &random_);
    for (float& value : x) {
      value *= x_scale;
    }
    const Job job = {&expert, {4, 0, 2}, {1, 3, 0}, {0.5F, -1.25F, 0.75F}};
    const double bound = quantization().ErrorBound(FT_COMPUTE_EXACT).value();
    for (const bool use_reference : {false, true}) {
      const auto y = RunJobs(quantization(), spec, {job}, x, 4, 2, use_reference);
      for (size_t row = 0; row < job.tokens.size(); ++row) {
        const auto want = OracleExpert(spec, expert, x.data() + job.tokens[row] * spec.hidden_dim,
                                       job.weights[row], use_reference ? 2e-7 : bound);
        for (int64_t h = 0; h < spec.hidden_dim; ++h) {
          const auto& [value, slack] = want[static_cast<size_t>(h)];
          const double got =
              static_cast<double>(y[static_cast<size_t>(job.routes[row] * spec.hidden_dim + h)]);
          ASSERT_LE(std::abs(got - value), slack)
              << (use_reference ? "reference" : "kernel") << ", activation " << spec.activation
              << ", flags " << spec.flags << ", row " << row << ", element " << h << ": " << got
              << ", want " << value;
        }
      }
      EXPECT_EQ(y[static_cast<size_t>(2 * spec.hidden_dim)], -7.0F) << "wrote a route of no job";
    }
  }

  std::mt19937 random_{77};
};

TEST_P(QuantizationExpertTest, ComputesEveryActivationGatedAndNot) {
  for (const uint32_t activation : {FT_ACT_SILU, FT_ACT_GELU, FT_ACT_GELU_TANH, FT_ACT_RELU2}) {
    ExpectRight(Spec(activation, FT_EXPERT_GATED), 0.3F);
    ExpectRight(Spec(activation, 0), 0.3F);
  }
}

TEST_P(QuantizationExpertTest, ComputesTheClampedActivationsAndTheyDifferFromTheFree) {
  ExpertSpec spec = Spec(FT_ACT_SILU, FT_EXPERT_GATED);
  spec.act_limit = 10;
  ExpectRight(spec, 4.0F);
  const Expert expert = MakeExpert(quantization(), spec, &random_);
  std::vector<float> x = RandomFloats(spec.hidden_dim, &random_);
  for (float& value : x) {
    value *= 40.0F;
  }
  const Job job = {&expert, {0}, {0}, {1.0F}};
  const auto clamped = RunJobs(quantization(), spec, {job}, x, 1, 1);
  spec.act_limit = 0;
  EXPECT_NE(RunJobs(quantization(), spec, {job}, x, 1, 1), clamped);
}

TEST_P(QuantizationExpertTest, ComputesTheSwigluOfGptOss) {
  ExpertSpec spec = Spec(FT_ACT_SWIGLU_OAI, FT_EXPERT_GATED | FT_EXPERT_BIAS);
  spec.act_alpha = 1.702;
  spec.act_limit = 7;
  ExpectRight(spec);
  spec.act_limit = 0;
  ExpectRight(spec, 0.1F);
}

TEST_P(QuantizationExpertTest, AddsBiasesAndPutsTheRouteWeightWhereTheKindSays) {
  for (const uint32_t flags : {FT_EXPERT_BIAS, FT_EXPERT_GATED | FT_EXPERT_BIAS,
                               FT_EXPERT_GATED | FT_EXPERT_WEIGHT_ON_INPUT,
                               FT_EXPERT_GATED | FT_EXPERT_BIAS | FT_EXPERT_WEIGHT_ON_INPUT}) {
    ExpectRight(Spec(FT_ACT_SILU, flags), 0.3F);
  }
}

TEST_P(QuantizationExpertTest, ComputesShapesThatFillNoPanel) {
  ExpertSpec spec = Spec(FT_ACT_SILU, FT_EXPERT_GATED);
  const int64_t multiple = ColsMultiple(GetParam());
  for (const auto& [wide, inner] :
       {std::pair<int64_t, int64_t>{32, 32}, {160, 96}, {33, 77}, {300, 130}}) {
    spec.hidden_dim = std::max(multiple, wide / multiple * multiple);
    spec.intermediate_dim = std::max(multiple, inner / multiple * multiple);
    ExpectRight(spec, 0.3F);
  }
}

TEST_P(QuantizationExpertTest, ARouteHasTheSameBitsInAnyCompanyAndWithAnyWorkers) {
  ExpertSpec spec = Spec(FT_ACT_SILU, FT_EXPERT_GATED);
  spec.hidden_dim = 160;
  constexpr int64_t kTokens = 90;
  const auto x = RandomFloats(kTokens * spec.hidden_dim, &random_);
  std::vector<Expert> experts;
  std::vector<Job> jobs;
  experts.reserve(3);
  int32_t route = 0;
  for (const int num_rows : {1, 75, 6}) {
    experts.push_back(MakeExpert(quantization(), spec, &random_));
    Job job;
    job.expert = &experts.back();
    for (int i = 0; i < num_rows; ++i) {
      job.tokens.push_back(static_cast<int32_t>(random_() % kTokens));
      job.routes.push_back(route++);
      job.weights.push_back(0.25F + static_cast<float>(i));
    }
    jobs.push_back(job);
    jobs.push_back({&experts.back(), {}, {}, {}});  // a job without rows changes nothing
  }
  const auto all = RunJobs(quantization(), spec, jobs, x, route, 1);
  for (const int num_workers : {2, 3}) {
    EXPECT_EQ(RunJobs(quantization(), spec, jobs, x, route, num_workers), all);
  }
  std::vector<Job> reversed(jobs.rbegin(), jobs.rend());
  EXPECT_EQ(RunJobs(quantization(), spec, reversed, x, route, 2), all);
  for (const Job& job : jobs) {
    for (size_t row = 0; row < job.tokens.size(); row += 5) {
      const Job alone = {job.expert, {job.tokens[row]}, {0}, {job.weights[row]}};
      const auto y = RunJobs(quantization(), spec, {alone}, x, 1, 1);
      EXPECT_EQ(std::memcmp(y.data(), all.data() + job.routes[row] * spec.hidden_dim,
                            y.size() * sizeof(float)),
                0)
          << "route " << job.routes[row];
    }
  }
}

TEST_P(QuantizationExpertTest, NoJobsAreNoWork) {
  const ExpertSpec spec = Spec(FT_ACT_SILU, FT_EXPERT_GATED);
  const auto y = RunJobs(quantization(), spec, {}, {}, 1, 1);
  EXPECT_EQ(std::count(y.begin(), y.end(), -7.0F), spec.hidden_dim);
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         QuantizationExpertTest,
                         ::testing::ValuesIn(AllFormatNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ft
