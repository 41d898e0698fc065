// Exact, slow decoding of every weight format to float: the reference that kernels and plugins are
// compared with, and what loads small tensors. No kernels, no threads.
//
// A matrix is [rows = outputs, cols = inputs], row-major. Two E2M1 codes share a byte, the low
// nibble is the even column. Scale tensors are plain row-major, as checkpoints store them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/status.h"
#include "core/tensor/tensor_view.h"

namespace ft {

/// Decodes `count` elements of F32, F16, BF16, F8_E4M3, F8_E5M2 or F8_E8M0 (U8 and the integers:
/// their value). `data` need not be aligned. Errors: kUnimplemented for BOOL.
Status DecodeToFloat(DType dtype, const void* data, size_t count, float* out);

/// NVFP4: value = E2M1[code] · (E4M3(scale) · global), or (E4M3(scale) / global) where the
/// checkpoint stores the divisor (compressed-tensors). The product is taken scale first, in float.
struct Nvfp4Weights {
  const uint8_t* codes = nullptr;   ///< [rows, cols/2]
  const uint8_t* scales = nullptr;  ///< [rows, cols/16] E4M3
  float global_scale = 1.0F;
  bool global_is_divisor = false;
  int64_t rows = 0;
  int64_t cols = 0;  ///< a multiple of 16
};

/// `out` [rows, cols].
/// Source: ../shared/design/formats.md; compressed-tensors `nvfp4-pack-quantized`, ModelOpt NVFP4.
void DequantizeNvfp4(const Nvfp4Weights& weights, float* out);

/// MXFP4: value = E2M1[code] · 2^(scale − 127).
struct Mxfp4Weights {
  const uint8_t* codes = nullptr;   ///< [rows, cols/2]
  const uint8_t* scales = nullptr;  ///< [rows, cols/32] E8M0
  int64_t rows = 0;
  int64_t cols = 0;  ///< a multiple of 32
};

/// `out` [rows, cols]. Source: OCP Microscaling formats specification 1.0.
void DequantizeMxfp4(const Mxfp4Weights& weights, float* out);

/// FP8 with a scale per block of block_rows × block_cols. The edge blocks may be smaller.
/// Per row: block_rows 1, block_cols = cols. Per tensor: both the whole extent.
struct Fp8Weights {
  const uint8_t* codes = nullptr;  ///< [rows, cols] E4M3
  const float* scales = nullptr;   ///< [ceil(rows/block_rows), ceil(cols/block_cols)] multipliers
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t block_rows = 128;
  int64_t block_cols = 128;
};

/// `out` [rows, cols] = E4M3(code) · scale.
void DequantizeFp8(const Fp8Weights& weights, float* out);

}  // namespace ft
