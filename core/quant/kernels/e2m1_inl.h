// Four-bit codes in panels (panel.h): 16 columns × 8 rows are 64 bytes. Byte 4·row + j holds column
// j in its low nibble and column j + 8 in its high one; byte 32 + 4·row + j columns j + 4 and j
// + 12. So a nibble shuffle gives 8 rows × 4 columns at once, for float and for later integer
// kernels.
#pragma once

#include "core/quant/kernels/panel_kernel_inl.h"

namespace ft::kernels {
namespace {

constexpr int64_t kE2m1SubBytes = 64;  // 16 columns × 8 rows

// sink(k0 + 0 … 15, twice the values of 8 rows).
#if defined(__AVX2__)
template <class Sink>
inline FT_ALWAYS_INLINE void E2m1Columns(__m256i codes, int k, Sink&& sink) {
  const __m256i lut = _mm256_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12,  //
                                       0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  const __m256i values = _mm256_shuffle_epi8(lut, codes);
  sink(k, _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(values, 24), 24)));
  sink(k + 1, _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(values, 16), 24)));
  sink(k + 2, _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(values, 8), 24)));
  sink(k + 3, _mm256_cvtepi32_ps(_mm256_srai_epi32(values, 24)));
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
constexpr float kE2m1Twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

template <class Sink>
inline FT_ALWAYS_INLINE void E2m1Sub(const uint8_t* codes, int k0, Sink&& sink) {
  for (int k = 0; k < 16; ++k) {
    const uint8_t* column = codes + (k & 4) * 8 + (k & 3);
    const int shift = (k & 8) / 2;
    V8 value;
    for (int row = 0; row < 8; ++row) {
      value[row] = kE2m1Twice[(column[4 * row] >> shift) & 15];
    }
    sink(k0 + k, value);
  }
}
#endif

}  // namespace
}  // namespace ft::kernels
