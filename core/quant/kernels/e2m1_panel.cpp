#include "core/quant/kernels/e2m1_panel.h"

namespace ft::kernels {
namespace {

constexpr int64_t kSubCols = 16;
constexpr int64_t kSubBytes = kSubCols * kPanelRows / 2;

// Byte of (row, col) in a panel's codes, and whether it is the high nibble: see e2m1_inl.h.
struct Nibble {
  int64_t byte;
  int shift;
};

Nibble NibbleOf(int64_t row, int64_t col) {
  const int64_t k = col % kSubCols;
  const int64_t byte = (k & 4) * 8 + 4 * row + (k & 3);
  return {col / kSubCols * kSubBytes + byte, k >= 8 ? 4 : 0};
}

int64_t CodeBytes(int64_t cols) {
  return cols / kSubCols * kSubBytes;
}

}  // namespace

int64_t E2m1PanelBytes(int64_t cols, int64_t block_cols) {
  return RoundUp(CodeBytes(cols) + cols / block_cols * kPanelRows, kPackedAlign);
}

void PackE2m1(int64_t rows,
              int64_t cols,
              int64_t block_cols,
              const uint8_t* codes,
              const uint8_t* scales,
              uint8_t* out) {
  const int64_t panel_bytes = E2m1PanelBytes(cols, block_cols);
  for (int64_t row = 0; row < rows; ++row) {
    uint8_t* panel = out + sizeof(PackedHeader) + row / kPanelRows * panel_bytes;
    const int64_t lane = row % kPanelRows;
    for (int64_t col = 0; col < cols; ++col) {
      const uint8_t pair = codes[(row * cols + col) / 2];
      const uint32_t code = col % 2 == 0 ? pair & 0xFU : pair >> 4U;
      const Nibble at = NibbleOf(lane, col);
      panel[at.byte] = static_cast<uint8_t>(panel[at.byte] | (code << at.shift));
    }
    for (int64_t block = 0; block < cols / block_cols; ++block) {
      panel[CodeBytes(cols) + block * kPanelRows + lane] =
          scales[row * (cols / block_cols) + block];
    }
  }
}

E2m1Code E2m1At(const uint8_t* matrix, int64_t row, int64_t col, int64_t cols, int64_t block_cols) {
  const uint8_t* panel =
      matrix + sizeof(PackedHeader) + row / kPanelRows * E2m1PanelBytes(cols, block_cols);
  const Nibble at = NibbleOf(row % kPanelRows, col);
  return {static_cast<uint8_t>((panel[at.byte] >> at.shift) & 0xF),
          panel[CodeBytes(cols) + col / block_cols * kPanelRows + row % kPanelRows]};
}

}  // namespace ft::kernels
