// Linear: a packed matrix and the format that multiplies with it. What a family's weights are made
// of; it knows neither names nor files.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/layers/aligned_bytes.h"
#include "core/quant/quantization.h"

namespace ft {

/// y = W x + b. Movable; the format must outlive it.
struct Linear {
  const Quantization* format = nullptr;
  uint32_t layout = 0;
  int64_t rows = 0;  ///< outputs
  int64_t cols = 0;  ///< inputs
  AlignedBytes packed;
  std::vector<float> bias;  ///< [rows], or empty

  /// `x`  [num_tokens, cols], contiguous
  /// `y`  [num_tokens, rows], contiguous, overwritten; not x
  /// A row of y depends on its row of x alone. Errors: those of the format.
  Status Apply(const float* x,
               int64_t num_tokens,
               float* y,
               uint32_t compute_mode,
               const ft_exec& exec) const;
};

}  // namespace ft
