#include "core/engine/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace ft {
namespace {

std::map<int32_t, double> Frequencies(const SamplingParams& params,
                                      const std::vector<float>& logits) {
  Sampler sampler(static_cast<int64_t>(logits.size()));
  std::map<int32_t, double> counts;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<float> scratch = logits;
    const auto token = sampler.Sample(params, TokenCounts(), scratch, 42, static_cast<uint64_t>(i));
    counts[token.value().token_id] += 1.0 / kDraws;
  }
  return counts;
}

const std::vector<float> kLogits = {std::log(0.5F), std::log(0.2F), std::log(0.15F), std::log(0.1F),
                                    std::log(0.05F)};

TEST(SamplerTest, DrawsWithTheModelsProbabilities) {
  const auto seen = Frequencies({}, kLogits);
  EXPECT_NEAR(seen.at(0), 0.5, 0.02);
  EXPECT_NEAR(seen.at(1), 0.2, 0.02);
  EXPECT_NEAR(seen.at(4), 0.05, 0.01);
}

TEST(SamplerTest, TemperatureSharpensAndZeroIsGreedy) {
  SamplingParams params;
  params.temperature = 0.5;
  const double total = 0.25 + 0.04 + 0.0225 + 0.01 + 0.0025;
  EXPECT_NEAR(Frequencies(params, kLogits).at(0), 0.25 / total, 0.02);
  params.temperature = 0;
  EXPECT_EQ(Frequencies(params, kLogits).size(), 1U);
  EXPECT_EQ(Frequencies(params, {1, 3, 3, 2}).begin()->first, 1);  // the lower id of equals
}

TEST(SamplerTest, TopKTopPAndMinPKeepWhatTheySay) {
  SamplingParams params;
  params.top_k = 2;
  auto seen = Frequencies(params, kLogits);
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_NEAR(seen.at(0), 5.0 / 7, 0.02);
  params = {};
  params.top_p = 0.75;  // 0.5 + 0.2 is too little, so the third comes along
  seen = Frequencies(params, kLogits);
  EXPECT_EQ(seen.size(), 3U);
  params = {};
  params.top_p = 0.01;
  EXPECT_EQ(Frequencies(params, kLogits).size(), 1U);
  params = {};
  params.min_p = 0.25;  // of 0.5: at least 0.125
  EXPECT_EQ(Frequencies(params, kLogits).size(), 3U);
}

TEST(SamplerTest, TheSameSeedAndPositionGiveTheSameToken) {
  Sampler sampler(5);
  std::set<int32_t> other_seed;
  for (uint64_t i = 0; i < 50; ++i) {
    std::vector<float> a = kLogits;
    std::vector<float> b = kLogits;
    EXPECT_EQ(sampler.Sample({}, {}, a, 7, i).value().token_id,
              sampler.Sample({}, {}, b, 7, i).value().token_id);
    b = kLogits;
    other_seed.insert(sampler.Sample({}, {}, b, i, 0).value().token_id);
  }
  EXPECT_GT(other_seed.size(), 1U);
}

TEST(SamplerTest, PenaltiesCountPromptAndOutputAsTheirNamesSay) {
  SamplingParams params;
  params.temperature = 0;
  params.repetition_penalty = 2.0;
  const std::vector<int32_t> prompt = {0};
  TokenCounts counts(params, prompt, 3);
  Sampler sampler(3);
  std::vector<float> logits = {3.0F, 2.0F, -1.0F};
  EXPECT_EQ(sampler.Sample(params, counts, logits, 0, 0).value().token_id, 1);  // 1.5, 2, -1
  counts.Add(1);
  logits = {3.0F, 2.0F, -1.0F};
  EXPECT_EQ(sampler.Sample(params, counts, logits, 0, 1).value().token_id, 0);  // 1.5, 1, -1
  EXPECT_FLOAT_EQ(logits[2], -1.0F);
  params.repetition_penalty = 1.0;
  params.presence_penalty = 0.5;
  params.frequency_penalty = 0.25;
  TokenCounts output_only(params, prompt, 3);
  output_only.Add(1);
  output_only.Add(1);
  logits = {3.0F, 2.0F, -1.0F};
  static_cast<void>(sampler.Sample(params, output_only, logits, 0, 2));
  EXPECT_FLOAT_EQ(logits[0], 3.0F);
  EXPECT_FLOAT_EQ(logits[1], 1.0F);
}

TEST(SamplerTest, LogprobsAreThoseOfTheRawLogits) {
  SamplingParams params;
  params.temperature = 0;
  params.num_logprobs = 2;
  params.logit_bias = {{4, 100.0}};
  Sampler sampler(5);
  std::vector<float> logits = kLogits;
  const SampledToken token = sampler.Sample(params, {}, logits, 0, 0).value();
  EXPECT_EQ(token.token_id, 4);
  EXPECT_NEAR(token.logprob, std::log(0.05), 1e-6);
  ASSERT_EQ(token.top.size(), 2U);
  EXPECT_EQ(token.top[0].token_id, 0);
  EXPECT_NEAR(token.top[1].logprob, std::log(0.2), 1e-6);
}

TEST(SamplerTest, LogitsThatAreNotFiniteAreAnErrorNotAToken) {
  Sampler sampler(2);
  std::vector<float> logits(2, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(sampler.Sample({}, {}, logits, 0, 3).status().code(), StatusCode::kInternal);
}

TEST(SamplerTest, ValuesOutOfRangeAreRefusedByName) {
  SamplingParams params;
  params.top_p = 0;
  EXPECT_NE(ValidateSampling(params, 5).message().find("top_p"), std::string::npos);
  params = {};
  params.temperature = std::nan("");
  EXPECT_FALSE(ValidateSampling(params, 5).ok());
  params = {};
  params.logit_bias = {{5, 1.0}};
  EXPECT_NE(ValidateSampling(params, 5).message().find("token 5"), std::string::npos);
  EXPECT_TRUE(ValidateSampling({}, 5).ok());
}

}  // namespace
}  // namespace ft
