#include "tests/conformance/quantization_samples.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "core/quant/dequantize.h"
#include "core/quant/float_formats.h"
#include "core/quant/quant_format.h"

namespace ft {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

bool OneIn(int n, std::mt19937* random) {
  return (*random)() % static_cast<uint32_t>(n) == 0;
}

template <typename T>
std::vector<uint8_t> BytesOf(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<uint8_t> RandomBytes(int64_t count, std::mt19937* random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>((*random)());
  }
  return bytes;
}

Sample MakeFloats(
    DType dtype, int64_t rows, int64_t cols, std::mt19937* random, const SampleOptions& options) {
  Sample sample{rows, cols, {}, {}};
  std::vector<float> values = RandomFloats(rows * cols, random);
  for (float& value : values) {
    if (options.zero_blocks && OneIn(3, random)) {
      value = 0;
    }
    if (options.denormals && OneIn(3, random)) {
      value *= dtype == DType::kF16 ? 0x1p-16F : 0x1p-128F;
    }
    if (options.nan_scales && OneIn(97, random)) {
      value = std::nanf("");
    }
  }
  std::vector<uint8_t> bytes;
  if (dtype == DType::kF32) {
    bytes = BytesOf(values);
  } else {
    std::vector<uint16_t> codes;
    for (const float value : values) {
      codes.push_back(dtype == DType::kF16 ? FloatToF16(value) : FloatToBf16(value));
    }
    bytes = BytesOf(codes);
  }
  sample.expected.resize(values.size());
  EXPECT_TRUE(DecodeToFloat(dtype, bytes.data(), values.size(), sample.expected.data()).ok());
  sample.parts.push_back({".weight", dtype, {rows, cols}, std::move(bytes)});
  return sample;
}

// A third of the blocks all zero, codes and scales, when asked for.
void ZeroBlocks(std::vector<uint8_t>* codes, std::vector<uint8_t>* scales, std::mt19937* random) {
  const size_t bytes_per_scale = codes->size() / scales->size();
  for (size_t i = 0; i < scales->size(); ++i) {
    if (OneIn(3, random)) {
      (*scales)[i] = 0;
      std::memset(codes->data() + i * bytes_per_scale, 0, bytes_per_scale);
    }
  }
}

Sample MakeNvfp4(
    int spelling, int64_t rows, int64_t cols, std::mt19937* random, const SampleOptions& options) {
  Sample sample{rows, cols, {}, {}};
  std::vector<uint8_t> codes = RandomBytes(rows * cols / 2, random);
  std::vector<uint8_t> scales(static_cast<size_t>(rows * cols / kNvfp4BlockSize));
  for (uint8_t& scale : scales) {
    scale = static_cast<uint8_t>(0x28 + (*random)() % 40);
    if (options.denormals && OneIn(3, random)) {
      scale = static_cast<uint8_t>((*random)() % 8);
    }
    if (options.nan_scales && OneIn(97, random)) {
      scale = 0x7F;
    }
  }
  if (options.zero_blocks) {
    ZeroBlocks(&codes, &scales, random);
  }
  const bool divides = spelling == 0;
  const float global = divides ? 1234.5F : 0.00321F;
  sample.expected.resize(static_cast<size_t>(rows * cols));
  DequantizeNvfp4({codes.data(), scales.data(), global, divides, rows, cols},
                  sample.expected.data());
  const auto part = [&](const char* suffix, DType dtype, Shape shape, std::vector<uint8_t> bytes) {
    sample.parts.push_back({suffix, dtype, std::move(shape), std::move(bytes)});
  };
  const auto scalar = BytesOf(std::vector<float>{global});
  if (divides) {
    part(".input_global_scale", DType::kF32, {1}, scalar);
    part(".weight_global_scale", DType::kF32, {1}, scalar);
    part(".weight_packed", DType::kU8, {rows, cols / 2}, codes);
    part(".weight_scale", DType::kF8E4m3, {rows, cols / 16}, scales);
  } else {
    part(".input_scale", DType::kF32, {}, scalar);
    part(".weight", DType::kU8, {rows, cols / 2}, codes);
    part(".weight_scale", DType::kF8E4m3, {rows, cols / 16}, scales);
    part(".weight_scale_2", DType::kF32, {}, scalar);
  }
  return sample;
}

Sample MakeMxfp4(
    int spelling, int64_t rows, int64_t cols, std::mt19937* random, const SampleOptions& options) {
  Sample sample{rows, cols, {}, {}};
  std::vector<uint8_t> codes = RandomBytes(rows * cols / 2, random);
  std::vector<uint8_t> scales(static_cast<size_t>(rows * cols / kMxfp4BlockSize));
  for (uint8_t& scale : scales) {
    scale = static_cast<uint8_t>(120 + (*random)() % 8);
    if (options.denormals && OneIn(3, random)) {
      scale = static_cast<uint8_t>((*random)() % 2);
    }
    if (options.nan_scales && OneIn(97, random)) {
      scale = 255;
    }
  }
  if (options.zero_blocks) {
    ZeroBlocks(&codes, &scales, random);
  }
  sample.expected.resize(static_cast<size_t>(rows * cols));
  DequantizeMxfp4({codes.data(), scales.data(), rows, cols}, sample.expected.data());
  const bool is_gpt_oss = spelling == 1;
  const Shape shape = is_gpt_oss ? Shape{rows, cols / 32, 16} : Shape{rows, cols / 2};
  sample.parts.push_back(
      {is_gpt_oss ? "_blocks" : ".weight_packed", DType::kU8, shape, std::move(codes)});
  sample.parts.push_back(
      {is_gpt_oss ? "_scales" : ".weight_scale", DType::kU8, {rows, cols / 32}, std::move(scales)});
  return sample;
}

struct Fp8Spelling {
  const char* scale_suffix;
  DType scale_dtype;
  int scale_rank;
};

Sample MakeFp8(const Fp8Spelling& spelling,
               int64_t block_rows,
               int64_t block_cols,
               int64_t rows,
               int64_t cols,
               std::mt19937* random,
               const SampleOptions& options) {
  Sample sample{rows, cols, {}, {}};
  std::vector<uint8_t> codes = RandomBytes(rows * cols, random);
  for (uint8_t& code : codes) {
    if (options.denormals && OneIn(3, random)) {
      code &= 0x87;
    }
    if ((code & 0x7F) == 0x7F && !options.nan_scales) {
      code &= 0xF0;
    }
  }
  const int64_t scale_rows = CeilDiv(rows, block_rows);
  const int64_t scale_cols = CeilDiv(cols, block_cols);
  std::vector<float> scales = RandomFloats(scale_rows * scale_cols, random);
  std::vector<uint16_t> bf16;
  for (float& scale : scales) {
    if (options.zero_blocks && OneIn(3, random)) {
      scale = 0;
    }
    bf16.push_back(FloatToBf16(scale));
    if (spelling.scale_dtype == DType::kBf16) {
      scale = Bf16ToFloat(bf16.back());
    }
  }
  sample.expected.resize(static_cast<size_t>(rows * cols));
  DequantizeFp8({codes.data(), scales.data(), rows, cols, block_rows, block_cols},
                sample.expected.data());
  Shape shape;
  if (spelling.scale_rank == 1) {
    shape = {scale_rows};
  } else if (spelling.scale_rank == 2) {
    shape = {scale_rows, scale_cols};
  }
  sample.parts.push_back({spelling.scale_suffix, spelling.scale_dtype, shape,
                          spelling.scale_dtype == DType::kBf16 ? BytesOf(bf16) : BytesOf(scales)});
  sample.parts.push_back({".weight", DType::kF8E4m3, {rows, cols}, std::move(codes)});
  return sample;
}

constexpr Fp8Spelling kBlockSpellings[] = {{".weight_scale_inv", DType::kF32, 2},
                                           {".weight_scale_inv", DType::kBf16, 2},
                                           {".weight_scale", DType::kF32, 2}};
constexpr Fp8Spelling kChannelSpellings[] = {{".weight_scale", DType::kBf16, 2},
                                             {".weight_scale", DType::kF32, 1}};
constexpr Fp8Spelling kTensorSpellings[] = {{".weight_scale", DType::kF32, 0},
                                            {".weight_scale", DType::kF32, 1}};

}  // namespace

std::vector<ft_part_info> Sample::Infos() const {
  std::vector<ft_part_info> infos;
  for (const SamplePart& part : parts) {
    ft_part_info info = {};
    info.suffix = {part.suffix.data(), part.suffix.size()};
    info.dtype = static_cast<uint16_t>(part.dtype);
    info.ndim = static_cast<uint32_t>(part.shape.size());
    info.shape = part.shape.data();
    infos.push_back(info);
  }
  return infos;
}

std::unique_ptr<Sample::Packable> Sample::ForPack(const ft_match& match) const {
  auto packable = std::make_unique<Packable>();
  packable->strides.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if ((match.used >> i & 1U) == 0) {
      continue;
    }
    const SamplePart& part = parts[i];
    std::vector<int64_t> strides(part.shape.size(), 1);
    for (size_t d = strides.size(); d > 1; --d) {
      strides[d - 2] = strides[d - 1] * part.shape[d - 1];
    }
    packable->strides.push_back(std::move(strides));
    ft_tensor tensor = {};
    tensor.data = const_cast<uint8_t*>(part.bytes.data());
    tensor.device_kind = FT_MEM_HOST;
    tensor.dtype = static_cast<uint16_t>(part.dtype);
    tensor.ndim = static_cast<int32_t>(part.shape.size());
    tensor.shape = part.shape.data();
    tensor.strides = packable->strides.back().data();
    tensor.bytes = part.bytes.size();
    packable->tensors.push_back(tensor);
  }
  packable->parts.spelling = match.spelling;
  packable->parts.n_parts = static_cast<uint32_t>(packable->tensors.size());
  packable->parts.parts = packable->tensors.data();
  return packable;
}

int NumSpellings(const std::string& format) {
  if (format == "bf16" || format == "f16" || format == "f32") {
    return 1;
  }
  if (format == "fp8_block") {
    return 3;
  }
  return format == "nvfp4" || format == "mxfp4" || format == "fp8_channel" || format == "fp8_tensor"
             ? 2
             : 0;
}

int64_t ColsMultiple(const std::string& format) {
  return format == "nvfp4" ? 16 : format == "mxfp4" ? 32 : 1;
}

Sample MakeSample(const std::string& format,
                  int spelling,
                  int64_t rows,
                  int64_t cols,
                  std::mt19937* random,
                  const SampleOptions& options) {
  if (format == "nvfp4") {
    return MakeNvfp4(spelling, rows, cols, random, options);
  }
  if (format == "mxfp4") {
    return MakeMxfp4(spelling, rows, cols, random, options);
  }
  if (format == "fp8_block") {
    return MakeFp8(kBlockSpellings[spelling], 128, 128, rows, cols, random, options);
  }
  if (format == "fp8_channel") {
    return MakeFp8(kChannelSpellings[spelling], 1, cols, rows, cols, random, options);
  }
  if (format == "fp8_tensor") {
    return MakeFp8(kTensorSpellings[spelling], rows, cols, rows, cols, random, options);
  }
  const DType dtype = format == "f32" ? DType::kF32 : format == "f16" ? DType::kF16 : DType::kBf16;
  return MakeFloats(dtype, rows, cols, random, options);
}

std::vector<uint8_t> PackSample(const Quantization& quantization, const Sample& sample) {
  Result<ft_match> match = quantization.Match("test", sample.Infos());
  if (!match.ok() || match->verdict != FT_MATCH_YES) {
    ADD_FAILURE() << quantization.format() << " does not know its own spelling: "
                  << (match.ok() ? "no" : match.status().message());
    return {};
  }
  EXPECT_EQ(match->rows, sample.rows);
  EXPECT_EQ(match->cols, sample.cols);
  Result<uint64_t> bytes = quantization.PackedBytes(0, sample.rows, sample.cols);
  if (!bytes.ok()) {
    ADD_FAILURE() << bytes.status().message();
    return {};
  }
  std::vector<uint8_t> packed(*bytes);
  const auto packable = sample.ForPack(*match);
  const Status status =
      quantization.Pack(0, sample.rows, sample.cols, packable->parts, packed.data(), packed.size());
  EXPECT_TRUE(status.ok()) << status.message();
  return packed;
}

std::vector<float> RandomFloats(int64_t count, std::mt19937* random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = normal(*random) * (OneIn(50, random) ? 12.0F : 1.0F);
  }
  return values;
}

}  // namespace ft
