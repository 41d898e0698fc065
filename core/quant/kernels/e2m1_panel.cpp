#include "core/quant/kernels/e2m1_panel.h"

namespace ft::kernels {
namespace {

constexpr int64_t kSubCols = 16;
constexpr int64_t kSubBytes = kSubCols * kPanelRows / 2;

// Where an element of a panel lies.
struct Place {
  int64_t code_byte;
  int code_shift;
  int64_t scale_byte;
};

int64_t BlockBytes(int64_t block_cols) {
  return block_cols * kPanelRows / 2 + kPanelRows;
}

Place PlaceOf(int64_t row, int64_t col, int64_t block_cols) {
  const int64_t block = col / block_cols * BlockBytes(block_cols);
  const int64_t sub = col % block_cols / kSubCols * kSubBytes;
  const int64_t k = col % kSubCols;
  // See e2m1_inl.h.
  const int64_t byte = (k & 4) * 8 + row / 4 * 16 + (k & 2) * 4 + row % 4 * 2 + (k & 1);
  return {block + sub + byte, k >= 8 ? 4 : 0, block + BlockBytes(block_cols) - kPanelRows + row};
}

}  // namespace

int64_t E2m1PanelBytes(int64_t cols, int64_t block_cols) {
  return RoundUp(cols / block_cols * BlockBytes(block_cols), kPackedAlign);
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
    const uint8_t* row_codes = codes + row * cols / 2;
    const uint8_t* row_scales = scales + row * (cols / block_cols);
    for (int64_t col = 0; col < cols; ++col) {
      const Place place = PlaceOf(row % kPanelRows, col, block_cols);
      const uint32_t code = row_codes[col / 2] >> (col % 2 * 4) & 0xFU;
      panel[place.code_byte] =
          static_cast<uint8_t>(panel[place.code_byte] | (code << place.code_shift));
      if (col % block_cols == 0) {
        panel[place.scale_byte] = row_scales[col / block_cols];
      }
    }
  }
}

E2m1Code E2m1At(const uint8_t* matrix, int64_t row, int64_t col, int64_t cols, int64_t block_cols) {
  const uint8_t* panel =
      matrix + sizeof(PackedHeader) + row / kPanelRows * E2m1PanelBytes(cols, block_cols);
  const Place place = PlaceOf(row % kPanelRows, col, block_cols);
  return {static_cast<uint8_t>((panel[place.code_byte] >> place.code_shift) & 0xF),
          panel[place.scale_byte]};
}

}  // namespace ft::kernels
