// Four-bit codes with a scale byte per block of columns, to and from panels: the layout that
// e2m1_inl.h reads. NVFP4 and MXFP4 share it. A block is its codes, then 8 scale bytes, one per
// row: one stream of memory. Plain loops, no kernels.
#pragma once

#include <cstdint>

#include "core/quant/kernels/panel.h"

namespace ft::kernels {

/// Bytes of a panel, rounded up to 64. cols % block_cols == 0, block_cols % 16 == 0.
int64_t E2m1PanelBytes(int64_t cols, int64_t block_cols);

/// `codes` [rows, cols/2], the even column in the low nibble; `scales` [rows, cols/block_cols].
/// `out` is a zeroed packed matrix.
void PackE2m1(int64_t rows,
              int64_t cols,
              int64_t block_cols,
              const uint8_t* codes,
              const uint8_t* scales,
              uint8_t* out);

struct E2m1Code {
  uint8_t code;   ///< four bits
  uint8_t scale;  ///< as stored
};

/// One element of a packed matrix. Slow.
E2m1Code E2m1At(const uint8_t* matrix, int64_t row, int64_t col, int64_t cols, int64_t block_cols);

}  // namespace ft::kernels
