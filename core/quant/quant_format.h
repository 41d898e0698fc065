// QuantFormat: how a group of stored numbers stands for real ones. Names and block sizes only;
// decoding is dequantize.h, kernels are the plugins'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/status.h"

namespace ft {

inline constexpr int64_t kNvfp4BlockSize = 16;   ///< values along K that share one E4M3 scale
inline constexpr int64_t kMxfp4BlockSize = 32;   ///< values along K that share one E8M0 scale
inline constexpr int64_t kFp8BlockExtent = 128;  ///< rows and columns of an FP8 block, as released

/// Layout of a weight matrix [rows = outputs, cols = inputs] in a checkpoint.
enum class QuantFormat : uint8_t {
  kF32,
  kF16,
  kBf16,
  kNvfp4,       ///< E2M1, E4M3 scale per 16 columns, one fp32 scale per tensor
  kMxfp4,       ///< E2M1, E8M0 scale per 32 columns
  kFp8Block,    ///< E4M3, one scale per 128×128 block
  kFp8Channel,  ///< E4M3, one scale per row
  kFp8Tensor,   ///< E4M3, one scale per tensor
};

/// "f32", "bf16", "nvfp4", "mxfp4", "fp8_block", "fp8_channel", "fp8_tensor". Static lifetime.
const char* QuantFormatName(QuantFormat format);

/// The opposite. Errors: kInvalidArgument that lists the names.
Result<QuantFormat> ParseQuantFormat(std::string_view name);

}  // namespace ft
