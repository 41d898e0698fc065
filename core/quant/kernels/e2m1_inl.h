// Four-bit codes in panels (panel.h), decoded as bf16 words by two byte shuffles. 16 columns × 8
// rows are 64 bytes: byte 32·h + 16·(row / 4) + 8·(j / 2) + 2·(row % 4) + j % 2 holds column 4·h +
// j in its low nibble and column 8 + 4·h + j in its high one (h < 2, j < 4). So after the shuffles,
// unpacking high and low bytes leaves the even and the odd column of 8 rows in the halves of 8
// dwords.
#pragma once

#include "core/quant/kernels/panel_kernel_inl.h"

namespace ft::kernels {
namespace {

constexpr int64_t kE2m1SubBytes = 64;  // 16 columns × 8 rows

// sink(k, values of 8 rows) for 16 columns from k0, in order.
#if defined(__AVX2__)
template <class Sink>
inline FT_ALWAYS_INLINE void E2m1Columns(__m256i codes, int k, Sink&& sink) {
  // Upper and lower bytes of ±{0, 0.5, 1, 1.5, 2, 3, 4, 6} as bf16.
  const __m256i high_bytes = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0x3F, 0x3F, 0x3F, 0x40, 0x40, 0x40, 0x40,  //
                    -0x80, -0x41, -0x41, -0x41, -0x40, -0x40, -0x40, -0x40));
  const __m256i low_bytes =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, -0x80, -0x40, 0, 0x40, -0x80, -0x40,  //
                                                0, 0, -0x80, -0x40, 0, 0x40, -0x80, -0x40));
  const __m256i odd = _mm256_set1_epi32(-0x10000);
  const __m256i high = _mm256_shuffle_epi8(high_bytes, codes);
  const __m256i low = _mm256_shuffle_epi8(low_bytes, codes);
  const __m256i a = _mm256_unpacklo_epi8(low, high);
  const __m256i b = _mm256_unpackhi_epi8(low, high);
  sink(k, _mm256_castsi256_ps(_mm256_slli_epi32(a, 16)));
  sink(k + 1, _mm256_castsi256_ps(_mm256_and_si256(a, odd)));
  sink(k + 2, _mm256_castsi256_ps(_mm256_slli_epi32(b, 16)));
  sink(k + 3, _mm256_castsi256_ps(_mm256_and_si256(b, odd)));
}

template <class Sink>
inline FT_ALWAYS_INLINE void E2m1Sub(const uint8_t* codes, int k0, Sink&& sink) {
  const __m256i low_nibbles = _mm256_set1_epi8(15);
  __m256i a;
  __m256i b;
  __builtin_memcpy(&a, codes, sizeof(a));
  __builtin_memcpy(&b, codes + 32, sizeof(b));
  E2m1Columns(_mm256_and_si256(a, low_nibbles), k0, sink);
  E2m1Columns(_mm256_and_si256(b, low_nibbles), k0 + 4, sink);
  E2m1Columns(_mm256_and_si256(_mm256_srli_epi16(a, 4), low_nibbles), k0 + 8, sink);
  E2m1Columns(_mm256_and_si256(_mm256_srli_epi16(b, 4), low_nibbles), k0 + 12, sink);
}
#else
constexpr float kE2m1Values[16] = {0, 0.5F,  1,  1.5F,  2,  3,  4,  6,
                                   0, -0.5F, -1, -1.5F, -2, -3, -4, -6};

template <class Sink>
inline FT_ALWAYS_INLINE void E2m1Sub(const uint8_t* codes, int k0, Sink&& sink) {
  for (int k = 0; k < 16; ++k) {
    const uint8_t* column = codes + (k & 4) * 8 + (k & 2) * 4 + (k & 1);
    const int shift = (k & 8) / 2;
    V8 value;
    for (int row = 0; row < 8; ++row) {
      value[row] = kE2m1Values[(column[(row / 4) * 16 + (row % 4) * 2] >> shift) & 15];
    }
    sink(k0 + k, value);
  }
}
#endif

}  // namespace
}  // namespace ft::kernels
