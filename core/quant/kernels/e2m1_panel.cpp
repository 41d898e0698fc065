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

namespace {

// 16 codes of one row (8 bytes, neighbours in a byte) to their places in 64 bytes: column k and
// column k + 8 share a byte there.
void PackSub(const uint8_t* from, int64_t row, uint8_t* to) {
  uint8_t* lane = to + row / 4 * 16 + row % 4 * 2;
  for (int pair = 0; pair < 4; ++pair) {
    const uint32_t low = from[pair];
    const uint32_t high = from[pair + 4];
    uint8_t* place = lane + (pair & 2) * 16 + (pair & 1) * 8;
    place[0] = static_cast<uint8_t>((low & 0xFU) | (high << 4U));
    place[1] = static_cast<uint8_t>((low >> 4U) | (high & 0xF0U));
  }
}

}  // namespace

void PackE2m1(int64_t rows,
              int64_t cols,
              int64_t block_cols,
              const uint8_t* codes,
              const uint8_t* scales,
              uint8_t* out) {
  const int64_t panel_bytes = E2m1PanelBytes(cols, block_cols);
  const int64_t num_blocks = cols / block_cols;
  for (int64_t row = 0; row < rows; ++row) {
    uint8_t* block = out + sizeof(PackedHeader) + row / kPanelRows * panel_bytes;
    const int64_t lane = row % kPanelRows;
    for (int64_t i = 0; i < num_blocks; ++i) {
      for (int64_t col = 0; col < block_cols; col += kSubCols) {
        PackSub(codes, lane, block + col / kSubCols * kSubBytes);
        codes += kSubCols / 2;
      }
      block += BlockBytes(block_cols);
      block[lane - kPanelRows] = *scales++;
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
