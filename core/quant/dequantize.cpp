#include "core/quant/dequantize.h"

#include <cstring>

#include "core/base/check.h"
#include "core/base/errors.h"
#include "core/quant/float_formats.h"
#include "core/quant/quant_format.h"

namespace ft {
namespace {

template <typename Stored, typename Decode>
void DecodeEach(const void* data, size_t count, float* out, Decode decode) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * sizeof(Stored), sizeof(Stored));
    out[i] = decode(stored);
  }
}

template <typename Stored>
void ConvertEach(const void* data, size_t count, float* out) {
  DecodeEach<Stored>(data, count, out, [](Stored value) { return static_cast<float>(value); });
}

// Columns 2i and 2i+1 of a row share byte i, the even one in the low nibble.
float CodeAt(const uint8_t* row_codes, int64_t column) {
  const uint8_t pair = row_codes[column / 2];
  return kE2m1Table[(column % 2 == 0) ? (pair & 0xFU) : (pair >> 4U)];
}

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Status DecodeToFloat(DType dtype, const void* data, size_t count, float* out) {
  switch (dtype) {
    case DType::kF32:
      if (count > 0) {
        std::memcpy(out, data, count * sizeof(float));
      }
      return Status();
    case DType::kF16:
      DecodeEach<uint16_t>(data, count, out, F16ToFloat);
      return Status();
    case DType::kBf16:
      DecodeEach<uint16_t>(data, count, out, Bf16ToFloat);
      return Status();
    case DType::kF8E4m3:
      DecodeEach<uint8_t>(data, count, out, E4m3ToFloat);
      return Status();
    case DType::kF8E5m2:
      DecodeEach<uint8_t>(data, count, out, E5m2ToFloat);
      return Status();
    case DType::kF8E8m0:
      DecodeEach<uint8_t>(data, count, out, E8m0ToFloat);
      return Status();
    case DType::kF64:
      ConvertEach<double>(data, count, out);
      return Status();
    case DType::kU8:
      ConvertEach<uint8_t>(data, count, out);
      return Status();
    case DType::kI8:
      ConvertEach<int8_t>(data, count, out);
      return Status();
    case DType::kU16:
      ConvertEach<uint16_t>(data, count, out);
      return Status();
    case DType::kI16:
      ConvertEach<int16_t>(data, count, out);
      return Status();
    case DType::kU32:
      ConvertEach<uint32_t>(data, count, out);
      return Status();
    case DType::kI32:
      ConvertEach<int32_t>(data, count, out);
      return Status();
    case DType::kU64:
      ConvertEach<uint64_t>(data, count, out);
      return Status();
    case DType::kI64:
      ConvertEach<int64_t>(data, count, out);
      return Status();
    case DType::kBool:
      break;
  }
  return Unimplemented("{} does not decode to float", DTypeName(dtype));
}

void DequantizeNvfp4(const Nvfp4Weights& weights, float* out) {
  FT_CHECK(weights.rows >= 0 && weights.cols >= 0 && weights.cols % kNvfp4BlockSize == 0);
  const int64_t num_blocks = weights.cols / kNvfp4BlockSize;
  for (int64_t row = 0; row < weights.rows; ++row) {
    const uint8_t* codes = weights.codes + row * (weights.cols / 2);
    for (int64_t column = 0; column < weights.cols; ++column) {
      const float block = kE4m3Table[weights.scales[row * num_blocks + column / kNvfp4BlockSize]];
      const float scale =
          weights.global_is_divisor ? block / weights.global_scale : block * weights.global_scale;
      out[row * weights.cols + column] = CodeAt(codes, column) * scale;
    }
  }
}

void DequantizeMxfp4(const Mxfp4Weights& weights, float* out) {
  FT_CHECK(weights.rows >= 0 && weights.cols >= 0 && weights.cols % kMxfp4BlockSize == 0);
  const int64_t num_blocks = weights.cols / kMxfp4BlockSize;
  for (int64_t row = 0; row < weights.rows; ++row) {
    const uint8_t* codes = weights.codes + row * (weights.cols / 2);
    for (int64_t column = 0; column < weights.cols; ++column) {
      const uint8_t scale = weights.scales[row * num_blocks + column / kMxfp4BlockSize];
      out[row * weights.cols + column] = CodeAt(codes, column) * kE8m0Table[scale];
    }
  }
}

void DequantizeFp8(const Fp8Weights& weights, float* out) {
  FT_CHECK(weights.rows >= 0 && weights.cols >= 0);
  FT_CHECK(weights.block_rows > 0 && weights.block_cols > 0);
  const int64_t blocks_per_row = CeilDiv(weights.cols, weights.block_cols);
  for (int64_t row = 0; row < weights.rows; ++row) {
    const float* scales = weights.scales + (row / weights.block_rows) * blocks_per_row;
    for (int64_t column = 0; column < weights.cols; ++column) {
      const int64_t at = row * weights.cols + column;
      out[at] = kE4m3Table[weights.codes[at]] * scales[column / weights.block_cols];
    }
  }
}

}  // namespace ft
