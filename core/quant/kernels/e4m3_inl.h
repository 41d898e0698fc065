// E4M3 bytes to float in panels (panel.h), by way of f16: the seven bits below the sign, one place
// down from the top of a word, are the value times 2^-8 as an f16, subnormals too. NaN is kept.
#pragma once

#include "core/quant/kernels/panel_kernel_inl.h"

namespace ft::kernels {
namespace {

constexpr float kE4m3Unit = 256.0F;  // what the decoded values below are multiplied with

#if defined(__AVX2__)
/// 8 bytes, as floats times 2^-8.
inline FT_ALWAYS_INLINE V8 E4m3Small8(const uint8_t* codes) {
  const __m128i nan = _mm_set1_epi16(0x7F00);
  const __m128i words = _mm_unpacklo_epi8(_mm_setzero_si128(),
                                          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
  const __m128i is_nan = _mm_cmpeq_epi16(_mm_and_si128(words, nan), nan);
  const __m128i half = _mm_and_si128(_mm_srai_epi16(words, 1), _mm_set1_epi16(-0x4080));  // 0xBF80
  return _mm256_cvtph_ps(_mm_or_si128(half, _mm_and_si128(is_nan, _mm_set1_epi16(0x7E00))));
}

/// 32 bytes of 4 columns: byte 2·row + j is column j, byte 16 + 2·row + j is column 2 + j.
/// sink(k0 + 0 … 3, values times 2^-8).
template <class Sink>
inline FT_ALWAYS_INLINE void E4m3Columns(const uint8_t* codes, int k0, Sink&& sink) {
  const __m256i magnitude = _mm256_set1_epi8(0x7F);
  const __m256i keep = _mm256_set1_epi16(-0x4080);  // 0xBF80: the copied sign out, junk out
  __m256i bytes;
  __builtin_memcpy(&bytes, codes, sizeof(bytes));
  __m256i odd = _mm256_and_si256(_mm256_srai_epi16(bytes, 1), keep);
  __m256i even = _mm256_and_si256(_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 1), keep);
  const __m256i is_nan = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, magnitude), magnitude);
  if (__builtin_expect(_mm256_movemask_epi8(is_nan) != 0, 0)) {
    const __m256i nan = _mm256_set1_epi16(0x7E00);
    odd = _mm256_or_si256(odd, _mm256_and_si256(is_nan, nan));
    even = _mm256_or_si256(even, _mm256_and_si256(_mm256_slli_epi16(is_nan, 8), nan));
  }
  sink(k0, _mm256_cvtph_ps(_mm256_castsi256_si128(even)));
  sink(k0 + 1, _mm256_cvtph_ps(_mm256_castsi256_si128(odd)));
  sink(k0 + 2, _mm256_cvtph_ps(_mm256_extracti128_si256(even, 1)));
  sink(k0 + 3, _mm256_cvtph_ps(_mm256_extracti128_si256(odd, 1)));
}
#else
inline FT_ALWAYS_INLINE float E4m3Small(uint8_t code) {
  const uint32_t magnitude = code & 0x7FU;
  const uint32_t sign = (code & 0x80U) << 24;
  uint32_t bits = 0;
  if (magnitude == 0x7FU) {
    bits = 0x7FC00000U;
  } else if (magnitude >= 8) {
    bits = (magnitude << 20) + ((127U - 7U - 8U) << 23);
  } else {
    const float tiny = static_cast<float>(magnitude) * 0x1p-17F;  // m · 2^-9 · 2^-8
    __builtin_memcpy(&bits, &tiny, sizeof(bits));
  }
  bits |= sign;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

inline FT_ALWAYS_INLINE V8 E4m3Small8(const uint8_t* codes) {
  V8 value;
  for (int row = 0; row < 8; ++row) {
    value[row] = E4m3Small(codes[row]);
  }
  return value;
}

template <class Sink>
inline FT_ALWAYS_INLINE void E4m3Columns(const uint8_t* codes, int k0, Sink&& sink) {
  for (int k = 0; k < 4; ++k) {
    V8 value;
    for (int row = 0; row < 8; ++row) {
      value[row] = E4m3Small(codes[(k / 2) * 16 + 2 * row + k % 2]);
    }
    sink(k0 + k, value);
  }
}
#endif

}  // namespace
}  // namespace ft::kernels
