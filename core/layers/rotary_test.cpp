// Frequencies against the formulas of ../shared/reference/models.md §0.3, written out per kind.
#include "core/layers/rotary.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ft {
namespace {

struct Angles {
  std::vector<double> angle;  // of each pair, in (-pi, pi]
  double magnitude = 0;       // of pair 0: the factor on cos and sin
};

Angles At(const RopeConfig& config, int64_t dim, int64_t positions, int64_t at, int64_t length) {
  auto rotary = Rotary::Create(config, dim, positions);
  EXPECT_TRUE(rotary.ok()) << rotary.status().message();
  std::vector<float> cos(static_cast<size_t>(dim / 2));
  std::vector<float> sin(cos.size());
  rotary->Angles(at, length, cos.data(), sin.data());
  Angles result;
  for (size_t i = 0; i < cos.size(); ++i) {
    result.angle.push_back(std::atan2(static_cast<double>(sin[i]), static_cast<double>(cos[i])));
  }
  result.magnitude = std::hypot(static_cast<double>(cos[0]), static_cast<double>(sin[0]));
  return result;
}

double Plain(double theta, int i, int dim) {
  return std::pow(theta, -2.0 * i / dim);
}

TEST(RotaryTest, PlainTurnsEachPairByItsFrequency) {
  RopeConfig config;
  config.theta = 500.0;
  const Angles angles = At(config, 8, 512, 1, 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(angles.angle[static_cast<size_t>(i)], Plain(500.0, i, 8), 1e-6);
  }
  EXPECT_NEAR(angles.magnitude, 1.0, 1e-6);
}

TEST(RotaryTest, LinearDividesByTheFactor) {
  RopeConfig config;
  config.type = RopeType::kLinear;
  config.factor = 2.0;
  const Angles angles = At(config, 8, 512, 1, 1);
  EXPECT_NEAR(angles.angle[1], Plain(10000, 1, 8) / 2, 1e-6);
}

TEST(RotaryTest, DynamicIsPlainUpToTheModelsLengthAndStretchesBeyond) {
  RopeConfig config;
  config.type = RopeType::kDynamic;
  config.factor = 4.0;
  EXPECT_NEAR(At(config, 8, 512, 1, 512).angle[2], Plain(10000, 2, 8), 1e-6);
  const double theta = 10000 * std::pow(4.0 * 1024 / 512 - 3, 8.0 / 6);
  EXPECT_NEAR(At(config, 8, 512, 1, 1024).angle[2], Plain(theta, 2, 8), 1e-6);
}

TEST(RotaryTest, DynamicWithAlphaStretchesAlways) {
  RopeConfig config;
  config.type = RopeType::kDynamic;
  config.alpha = 1000.0;
  const double theta = 10000 * std::pow(1000.0, 8.0 / 6);
  EXPECT_NEAR(At(config, 8, 512, 1, 1).angle[1], Plain(theta, 1, 8), 1e-6);
}

TEST(RotaryTest, Llama3KeepsShortWavesAndDividesLongOnes) {
  RopeConfig config;
  config.type = RopeType::kLlama3;
  config.theta = 500000.0;
  config.factor = 8.0;
  config.low_freq_factor = 1.0;
  config.high_freq_factor = 4.0;
  config.original_max_positions = 32;
  const Angles angles = At(config, 16, 512, 1, 1);
  EXPECT_NEAR(angles.angle[0], 1.0, 1e-6);  // wavelength 6.3 < 32/4
  EXPECT_NEAR(angles.angle[7], Plain(500000, 7, 16) / 8, 1e-9);
  const double frequency = Plain(500000, 1, 16);  // wavelength 32.4 > 32/1
  EXPECT_NEAR(angles.angle[1], frequency / 8, 1e-6);
  config.original_max_positions = 64;  // now between 64/4 and 64/1
  const double smooth = (64 / (2 * 3.14159265358979323846 / frequency) - 1) / 3;
  EXPECT_NEAR(At(config, 16, 512, 1, 1).angle[1], (1 - smooth) * frequency / 8 + smooth * frequency,
              1e-6);
}

TEST(RotaryTest, YarnMixesByRampAndScalesTheMagnitude) {
  RopeConfig config;
  config.type = RopeType::kYarn;
  config.factor = 4.0;
  config.original_max_positions = 128;
  const auto correction = [](double n) {
    return 16 * std::log(128 / (n * 2 * 3.14159265358979323846)) / (2 * std::log(10000.0));
  };
  const double low = std::max(0.0, std::floor(correction(32)));
  const double high = std::ceil(correction(1));
  const Angles angles = At(config, 16, 512, 1, 1);
  for (int i = 0; i < 8; ++i) {
    const double ramp = std::min(1.0, std::max(0.0, (i - low) / (high - low)));
    const double frequency = Plain(10000, i, 16);
    EXPECT_NEAR(angles.angle[static_cast<size_t>(i)], frequency / 4 * ramp + frequency * (1 - ramp),
                1e-6);
  }
  EXPECT_NEAR(angles.magnitude, 0.1 * std::log(4.0) + 1, 1e-6);
  config.mscale = 0.7;
  config.mscale_all_dim = 1.4;
  EXPECT_NEAR(At(config, 16, 512, 1, 1).magnitude,
              (0.07 * std::log(4.0) + 1) / (0.14 * std::log(4.0) + 1), 1e-6);
  config.attention_factor = 1.25;
  EXPECT_NEAR(At(config, 16, 512, 1, 1).magnitude, 1.25, 1e-6);
}

TEST(RotaryTest, LongRopeChoosesItsFactorsByTheWholeLength) {
  RopeConfig config;
  config.type = RopeType::kLongRope;
  config.original_max_positions = 64;
  config.short_factor = {1.0, 2.0, 1.0, 1.0};
  config.long_factor = {1.0, 8.0, 1.0, 1.0};
  EXPECT_NEAR(At(config, 8, 512, 1, 64).angle[1], Plain(10000, 1, 8) / 2, 1e-6);
  EXPECT_NEAR(At(config, 8, 512, 1, 65).angle[1], Plain(10000, 1, 8) / 8, 1e-6);
  EXPECT_NEAR(At(config, 8, 512, 1, 1).magnitude,
              std::sqrt(1 + std::log(512.0 / 64) / std::log(64.0)), 1e-6);
  config.factor = 4.0;
  EXPECT_NEAR(At(config, 8, 512, 1, 1).magnitude, std::sqrt(1 + std::log(4.0) / std::log(64.0)),
              1e-6);
  config.long_factor.pop_back();
  EXPECT_EQ(Rotary::Create(config, 8, 512).status().code(), StatusCode::kInvalidArgument);
}

TEST(RotaryTest, RefusesOddHeads) {
  EXPECT_FALSE(Rotary::Create({}, 15, 512).ok());
  EXPECT_FALSE(Rotary::Create({}, 0, 512).ok());
}

}  // namespace
}  // namespace ft
