#include "core/quant/dequantize.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/quant/float_formats.h"
#include "core/quant/quant_format.h"

namespace ft {
namespace {

TEST(QuantFormatTest, NamesGoThereAndBack) {
  for (int i = 0; i <= static_cast<int>(QuantFormat::kFp8Tensor); ++i) {
    const auto format = static_cast<QuantFormat>(i);
    EXPECT_EQ(ParseQuantFormat(QuantFormatName(format)).value(), format);
  }
  EXPECT_EQ(ParseQuantFormat("int3").status().code(), StatusCode::kInvalidArgument);
}

TEST(DequantizeTest, Nvfp4TakesTheLowNibbleFirstAndOneScalePer16Columns) {
  std::vector<uint8_t> codes(2 * 16);
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(((2 * i + 1) % 16) << 4 | (2 * i) % 16);
  }
  const std::vector<uint8_t> scales = {FloatToE4m3(1.0F), FloatToE4m3(2.0F), FloatToE4m3(0.5F),
                                       FloatToE4m3(448.0F)};
  std::vector<float> out(2 * 32);
  DequantizeNvfp4({codes.data(), scales.data(), 0.25F, false, 2, 32}, out.data());
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], kE2m1Table[i % 16] * kE4m3Table[scales[i / 16]] * 0.25F) << i;
  }
  std::vector<float> divided(out.size());
  DequantizeNvfp4({codes.data(), scales.data(), 4.0F, true, 2, 32}, divided.data());
  EXPECT_EQ(out, divided);
}

TEST(DequantizeTest, Mxfp4TakesOnePowerOfTwoPer32Columns) {
  std::vector<uint8_t> codes(64 / 2 * 3);
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(i * 37);
  }
  const std::vector<uint8_t> scales = {127, 0, 120, 254, 130, 1};
  std::vector<float> out(3 * 64);
  DequantizeMxfp4({codes.data(), scales.data(), 3, 64}, out.data());
  for (size_t i = 0; i < out.size(); ++i) {
    const uint8_t pair = codes[i / 2];
    const float code = E2m1ToFloat(static_cast<uint8_t>(i % 2 == 0 ? pair : pair >> 4));
    EXPECT_EQ(out[i],
              static_cast<float>(std::ldexp(static_cast<double>(code), scales[i / 32] - 127)))
        << i;
  }
}

TEST(DequantizeTest, Fp8BlocksMayBeCutAtTheEdges) {
  const int64_t rows = 130;
  const int64_t cols = 257;
  std::vector<uint8_t> codes(static_cast<size_t>(rows * cols));
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(i % 127);
  }
  const std::vector<float> scales = {1, 2, 3, 4, 5, 6};  // [2, 3]
  std::vector<float> out(codes.size());
  DequantizeFp8({codes.data(), scales.data(), rows, cols, 128, 128}, out.data());
  const auto at = [cols](int64_t row, int64_t col) {
    return static_cast<size_t>(row * cols + col);
  };
  EXPECT_EQ(out[at(0, 0)], 0.0F);
  EXPECT_EQ(out[at(127, 127)], kE4m3Table[codes[at(127, 127)]] * 1.0F);
  EXPECT_EQ(out[at(127, 128)], kE4m3Table[codes[at(127, 128)]] * 2.0F);
  EXPECT_EQ(out[at(0, 256)], kE4m3Table[codes[at(0, 256)]] * 3.0F);
  EXPECT_EQ(out[at(128, 0)], kE4m3Table[codes[at(128, 0)]] * 4.0F);
  EXPECT_EQ(out[at(129, 256)], kE4m3Table[codes[at(129, 256)]] * 6.0F);
}

TEST(DequantizeTest, Fp8PerChannelAndPerTensorAreBlocksOfOneRowAndOfAll) {
  const std::vector<uint8_t> codes = {0x38, 0x40, 0x38, 0x40};  // 1, 2
  const std::vector<float> scales = {0.5F, 3.0F};
  std::vector<float> out(4);
  DequantizeFp8({codes.data(), scales.data(), 2, 2, 1, 2}, out.data());
  EXPECT_EQ(out, (std::vector<float>{0.5F, 1.0F, 3.0F, 6.0F}));
  DequantizeFp8({codes.data(), scales.data(), 2, 2, 2, 2}, out.data());
  EXPECT_EQ(out, (std::vector<float>{0.5F, 1.0F, 0.5F, 1.0F}));
}

TEST(DequantizeTest, PlainTypesDecodeFromUnalignedBytes) {
  std::vector<unsigned char> bytes(1 + 8);
  const uint16_t halves[] = {0x3F80, 0xC000};
  std::memcpy(bytes.data() + 1, halves, sizeof(halves));
  std::vector<float> out(2);
  ASSERT_TRUE(DecodeToFloat(DType::kBf16, bytes.data() + 1, 2, out.data()).ok());
  EXPECT_EQ(out, (std::vector<float>{1.0F, -2.0F}));
  ASSERT_TRUE(DecodeToFloat(DType::kF16, bytes.data() + 1, 2, out.data()).ok());
  EXPECT_EQ(out, (std::vector<float>{1.875F, -2.0F}));
  const int64_t number = -7;
  std::memcpy(bytes.data() + 1, &number, sizeof(number));
  ASSERT_TRUE(DecodeToFloat(DType::kI64, bytes.data() + 1, 1, out.data()).ok());
  EXPECT_EQ(out[0], -7.0F);
  EXPECT_EQ(DecodeToFloat(DType::kBool, bytes.data(), 1, out.data()).code(),
            StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace ft
