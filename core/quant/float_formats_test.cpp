#include "core/quant/float_formats.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace ft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // the largest exponent means infinity and NaN, as in IEEE 754
};

// Value of a code in double by the textbook formula, without the tricks of the header.
double Oracle(uint32_t code, const Format& format) {
  const uint32_t mantissa_mask = (1U << format.mantissa_bits) - 1U;
  const uint32_t exponent_mask = (1U << format.exponent_bits) - 1U;
  const uint32_t mantissa = code & mantissa_mask;
  const uint32_t exponent = (code >> format.mantissa_bits) & exponent_mask;
  const bool negative = ((code >> (format.exponent_bits + format.mantissa_bits)) & 1U) != 0;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  double value = 0.0;
  if (format.has_infinity && exponent == exponent_mask) {
    value = mantissa == 0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  } else {
    const double fraction = mantissa / std::ldexp(1.0, format.mantissa_bits);
    value = exponent == 0 ? std::ldexp(fraction, 1 - bias)
                          : std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
  }
  return negative ? -value : value;
}

void ExpectSame(float got, double want, uint32_t code) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << "code " << code;
    return;
  }
  EXPECT_EQ(static_cast<double>(got), want) << "code " << code;
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << "code " << code;
}

// Nearest finite value to `value` by trying all codes without sign, ties to the even code.
template <typename Decode>
uint32_t NearestCode(double value, uint32_t num_finite_codes, Decode decode) {
  uint32_t best = 0;
  double best_distance = kInfinity;
  for (uint32_t code = 0; code < num_finite_codes; ++code) {
    const double distance = std::fabs(static_cast<double>(decode(code)) - std::fabs(value));
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return best;
}

TEST(FloatFormatsTest, EveryBf16AndF16CodeDecodesExactly) {
  for (uint32_t code = 0; code < 65536; ++code) {
    ExpectSame(Bf16ToFloat(static_cast<uint16_t>(code)), Oracle(code, {8, 7, true}), code);
    ExpectSame(F16ToFloat(static_cast<uint16_t>(code)), Oracle(code, {5, 10, true}), code);
  }
}

TEST(FloatFormatsTest, EveryE5m2E2m1AndE8m0CodeDecodesExactly) {
  for (uint32_t code = 0; code < 256; ++code) {
    ExpectSame(E5m2ToFloat(static_cast<uint8_t>(code)), Oracle(code, {5, 2, true}), code);
    const double scale = code == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(code) - 127);
    ExpectSame(E8m0ToFloat(static_cast<uint8_t>(code)), scale, code);
  }
  for (uint32_t code = 0; code < 16; ++code) {
    ExpectSame(E2m1ToFloat(static_cast<uint8_t>(code)), Oracle(code, {2, 1, false}), code);
    EXPECT_EQ(static_cast<float>(kE2m1Doubled[code]), 2.0F * kE2m1Table[code]);
  }
  const std::vector<float> values = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(kE2m1Table[i], values[i]);
  }
}

TEST(FloatFormatsTest, EveryE4m3CodeDecodesExactlyAndOnlyAllOnesIsNan) {
  for (uint32_t code = 0; code < 256; ++code) {
    const bool is_nan = (code & 0x7FU) == 0x7FU;
    const double want = is_nan ? std::nan("") : Oracle(code, {4, 3, false});
    ExpectSame(E4m3ToFloat(static_cast<uint8_t>(code)), want, code);
  }
  EXPECT_EQ(kE4m3Table[0x7E], 448.0F);
  EXPECT_EQ(kE4m3Table[1], std::ldexp(1.0F, -9));
}

TEST(FloatFormatsTest, EveryCodeSurvivesTheWayThereAndBack) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto wide = static_cast<uint16_t>(code);
    if (!std::isnan(Bf16ToFloat(wide))) {
      EXPECT_EQ(FloatToBf16(Bf16ToFloat(wide)), wide);
    }
    if (!std::isnan(F16ToFloat(wide))) {
      EXPECT_EQ(FloatToF16(F16ToFloat(wide)), wide);
    }
  }
  for (uint32_t code = 0; code < 256; ++code) {
    const auto narrow = static_cast<uint8_t>(code);
    if (!std::isnan(kE4m3Table[code])) {
      EXPECT_EQ(FloatToE4m3(kE4m3Table[code]), narrow);
    }
    if (!std::isnan(kE5m2Table[code])) {
      EXPECT_EQ(FloatToE5m2(kE5m2Table[code]), narrow);
    }
    if (code < 16) {
      EXPECT_EQ(FloatToE2m1(kE2m1Table[code]), narrow);
    }
    if (code < 255) {
      EXPECT_EQ(FloatToE8m0Floor(kE8m0Table[code]), narrow);
    }
  }
}

// All neighbours, midpoints and their float neighbours: where rounding can go wrong.
template <typename Decode>
std::vector<float> HardValues(uint32_t num_finite_codes, Decode decode) {
  std::vector<float> values;
  for (uint32_t code = 0; code + 1 < num_finite_codes; ++code) {
    const float low = decode(code);
    const float high = decode(code + 1);
    const float middle = low + (high - low) / 2.0F;
    for (const float value : {low, middle, std::nextafter(middle, low),
                              std::nextafter(middle, high), std::nextafter(high, low)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

TEST(FloatFormatsTest, NarrowFormatsRoundToNearestEvenAtEveryBorder) {
  const auto e4m3 = [](uint32_t code) { return kE4m3Table[code]; };
  for (const float value : HardValues(0x7F, e4m3)) {
    const uint32_t sign = std::signbit(value) ? 0x80U : 0U;
    EXPECT_EQ(FloatToE4m3(value), sign | NearestCode(value, 0x7F, e4m3)) << value;
  }
  const auto e5m2 = [](uint32_t code) { return kE5m2Table[code]; };
  for (const float value : HardValues(0x7C, e5m2)) {
    const uint32_t sign = std::signbit(value) ? 0x80U : 0U;
    EXPECT_EQ(FloatToE5m2(value), sign | NearestCode(value, 0x7C, e5m2)) << value;
  }
  const auto e2m1 = [](uint32_t code) { return kE2m1Table[code]; };
  for (const float value : HardValues(8, e2m1)) {
    const uint32_t sign = std::signbit(value) ? 8U : 0U;
    EXPECT_EQ(FloatToE2m1(value), sign | NearestCode(value, 8, e2m1)) << value;
  }
}

TEST(FloatFormatsTest, HalfFormatsRoundToNearestEvenAtEveryBorder) {
  const auto f16 = [](uint32_t code) { return F16ToFloat(static_cast<uint16_t>(code)); };
  const auto bf16 = [](uint32_t code) { return Bf16ToFloat(static_cast<uint16_t>(code)); };
  for (uint32_t code = 0; code + 1 < 0x7C00; ++code) {
    const float middle = f16(code) + (f16(code + 1) - f16(code)) / 2.0F;
    EXPECT_EQ(FloatToF16(middle), code + code % 2);
    EXPECT_EQ(FloatToF16(std::nextafter(middle, 0.0F)), code);
    EXPECT_EQ(FloatToF16(std::nextafter(middle, 1e9F)), code + 1);
  }
  for (uint32_t code = 0; code + 1 < 0x7F80; ++code) {
    const float middle = internal::FloatFromBits((code << 16) + 0x8000U);
    EXPECT_EQ(FloatToBf16(middle), code + code % 2);
    EXPECT_EQ(FloatToBf16(internal::FloatFromBits((code << 16) + 0x7FFFU)), code);
    EXPECT_EQ(FloatToBf16(internal::FloatFromBits((code << 16) + 0x8001U)), code + 1);
  }
  EXPECT_EQ(bf16(0x3F80), 1.0F);
}

TEST(FloatFormatsTest, OverflowAndNanFollowEachFormatsRule) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(FloatToF16(65519.0F), 0x7BFF);
  EXPECT_EQ(FloatToF16(65520.0F), 0x7C00);
  EXPECT_EQ(FloatToF16(-infinity), 0xFC00);
  EXPECT_EQ(FloatToBf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(FloatToE4m3(1e9F), 0x7E);
  EXPECT_EQ(FloatToE4m3(-infinity), 0xFE);
  EXPECT_EQ(FloatToE5m2(61440.0F), 0x7C);
  EXPECT_EQ(FloatToE5m2(61439.0F), 0x7B);
  EXPECT_EQ(FloatToE2m1(100.0F), 7);
  EXPECT_EQ(FloatToE2m1(-infinity), 15);
  EXPECT_TRUE(std::isnan(F16ToFloat(FloatToF16(nan))));
  EXPECT_TRUE(std::isnan(Bf16ToFloat(FloatToBf16(nan))));
  EXPECT_TRUE(std::isnan(E4m3ToFloat(FloatToE4m3(nan))));
  EXPECT_TRUE(std::isnan(E5m2ToFloat(FloatToE5m2(nan))));
  EXPECT_EQ(FloatToE2m1(nan), 7);
}

}  // namespace
}  // namespace ft
