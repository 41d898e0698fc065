// How packed matrices lie in memory and what the smallest kernel computes. Shared by all formats;
// the kernel itself is panel_kernel_inl.h, who calls it is panel_drive.h.
//
// A matrix [rows, cols] is cut into panels of 8 rows, a panel into blocks of 16 or 32 columns. The
// bytes of a block are ordered so that the 8 rows are the 8 lanes of a vector: no horizontal sums,
// one scale vector per block, and every weight is read once, in order, as one stream. Rows behind
// the last and columns behind the last are zero codes. Offsets from the start of a packed matrix:
//
//   0                         PackedHeader, 64 bytes
//   64 + p · panel_bytes      panel p: codes of all blocks, then its scales; a multiple of 64
//
// The order of additions for one (row, token) is fixed by the block size alone.
#pragma once

#include <cstdint>

namespace ft::kernels {

inline constexpr int64_t kPanelRows = 8;
inline constexpr int64_t kTileTokens = 64;  ///< 64 tokens × 16 rows of sums are 4 KiB, inside L1
inline constexpr int64_t kPackedAlign = 64;

/// Start of every packed matrix.
struct PackedHeader {
  float global_scale;  ///< one factor of all weights; 1 where the format has none
  uint32_t
      global_divides;  ///< 1: weights are codes · (scale / global), 0: codes · (scale · global)
  int64_t panel_bytes;
  uint8_t reserved[48];
};

static_assert(sizeof(PackedHeader) == 64);

/// One panel: rows [8 · index, 8 · index + 8) of the packed matrix at `matrix`.
struct PanelRef {
  const uint8_t* matrix = nullptr;
  int64_t index = 0;
};

/// Two panels times some tokens; the panels share cols and x (gate and up, or neighbours).
struct TileArgs {
  PanelRef panels[2];
  int num_panels = 1;
  int64_t cols = 0;
  const float* x = nullptr;  ///< [any, cols], rows x_stride floats apart
  int64_t x_stride = 0;
  const int32_t* tokens = nullptr;  ///< [num_tokens] rows of x; null: 0, 1, 2, …
  int64_t num_tokens = 0;           ///< 1 to kTileTokens
  float* out = nullptr;             ///< [num_tokens][16]: 8 sums of panel 0, then 8 of panel 1
};

/// Pure; any thread. Rows of `out` depend on their own row of x alone.
using TileFn = void (*)(const TileArgs& args);

/// For a >= 0, b > 0; any a, since shapes come from files.
constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

constexpr int64_t RoundUp(int64_t a, int64_t b) {
  return CeilDiv(a, b) * b;
}

}  // namespace ft::kernels
