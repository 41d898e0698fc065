// The small float formats of checkpoints, to and from float: bf16, f16, E4M3 (fn), E5M2, E8M0 and
// E2M1. Pure bit arithmetic, constexpr, the same on host and device; no kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#  define FT_HOST_DEVICE __host__ __device__
#else
#  define FT_HOST_DEVICE
#endif

namespace ft {
namespace internal {

FT_HOST_DEVICE constexpr float FloatFromBits(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

FT_HOST_DEVICE constexpr uint32_t BitsFromFloat(float value) {
  return __builtin_bit_cast(uint32_t, value);
}

/// Decodes sign | exponent | mantissa with subnormals; infinities and NaN are the caller's. The
/// value is exact: every format here is a subset of float.
FT_HOST_DEVICE constexpr float DecodeSmallFloat(uint32_t code,
                                                int exponent_bits,
                                                int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t sign = (code >> (exponent_bits + mantissa_bits)) & 1U;
  const uint32_t exponent = (code >> mantissa_bits) & ((1U << exponent_bits) - 1U);
  const uint32_t mantissa = code & ((1U << mantissa_bits) - 1U);
  const uint32_t sign_bit = sign << 31;
  if (exponent != 0) {
    const auto float_exponent = static_cast<uint32_t>(static_cast<int>(exponent) - bias + 127);
    return FloatFromBits(sign_bit | (float_exponent << 23) | (mantissa << (23 - mantissa_bits)));
  }
  // Subnormal: mantissa · 2^(1 − bias − mantissa_bits), a power of two that float holds exactly.
  const auto unit_exponent = static_cast<uint32_t>(1 - bias - mantissa_bits + 127);
  const float magnitude = static_cast<float>(mantissa) * FloatFromBits(unit_exponent << 23);
  return FloatFromBits(BitsFromFloat(magnitude) | sign_bit);
}

/// Magnitude bits (no sign) of the nearest value, ties to even, without an upper limit: the result
/// runs on into larger exponents and the caller cuts it. `bits` is a finite float without sign.
FT_HOST_DEVICE constexpr uint32_t EncodeSmallMagnitude(uint32_t bits,
                                                       int exponent_bits,
                                                       int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> 23) - 127;
  if (exponent < -126) {
    return 0;  // float subnormals are below half of the least value of every format here
  }
  uint32_t significand = (bits & 0x7FFFFFU) | 0x800000U;
  int drop = 23 - mantissa_bits;  // bits to round away
  uint32_t base = 0;
  if (exponent >= 1 - bias) {
    base = static_cast<uint32_t>(exponent + bias - 1) << mantissa_bits;
  } else {
    drop += 1 - bias - exponent;
    if (drop > 24) {
      return 0;
    }
  }
  const uint32_t half = 1U << (drop - 1);
  const uint32_t odd = (significand >> drop) & 1U;
  significand += half - 1U + odd;
  return base + (significand >> drop);
}

}  // namespace internal

FT_HOST_DEVICE constexpr float Bf16ToFloat(uint16_t code) {
  return internal::FloatFromBits(static_cast<uint32_t>(code) << 16);
}

/// Nearest, ties to even; overflow to infinity; NaN stays NaN (quiet, sign kept).
FT_HOST_DEVICE constexpr uint16_t FloatToBf16(float value) {
  const uint32_t bits = internal::BitsFromFloat(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

FT_HOST_DEVICE constexpr float F16ToFloat(uint16_t code) {
  if ((code & 0x7C00U) == 0x7C00U) {
    const uint32_t mantissa = code & 0x3FFU;
    return internal::FloatFromBits((static_cast<uint32_t>(code & 0x8000U) << 16) | 0x7F800000U |
                                   (mantissa << 13));
  }
  return internal::DecodeSmallFloat(code, 5, 10);
}

/// Nearest, ties to even; overflow to infinity; NaN stays NaN.
FT_HOST_DEVICE constexpr uint16_t FloatToF16(float value) {
  const uint32_t bits = internal::BitsFromFloat(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<uint16_t>(sign | 0x7E00U);
  }
  if (magnitude >= 0x477FF000U) {  // 65520: halfway between the largest f16 and the next
    return static_cast<uint16_t>(sign | 0x7C00U);
  }
  return static_cast<uint16_t>(sign | internal::EncodeSmallMagnitude(magnitude, 5, 10));
}

/// E4M3 without infinities ("fn"): bias 7, largest 448, 0x7F and 0xFF are NaN.
/// Source: OCP 8-bit floating point specification, table 1.
FT_HOST_DEVICE constexpr float E4m3ToFloat(uint8_t code) {
  if ((code & 0x7FU) == 0x7FU) {
    return internal::FloatFromBits((static_cast<uint32_t>(code & 0x80U) << 24) | 0x7FC00000U);
  }
  return internal::DecodeSmallFloat(code, 4, 3);
}

/// Nearest, ties to even; beyond 448 (infinity too) it saturates to ±448; NaN gives NaN.
FT_HOST_DEVICE constexpr uint8_t FloatToE4m3(float value) {
  const uint32_t bits = internal::BitsFromFloat(value);
  const uint32_t sign = (bits >> 24) & 0x80U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<uint8_t>(sign | 0x7FU);
  }
  if (magnitude >= 0x43E00000U) {  // 448
    return static_cast<uint8_t>(sign | 0x7EU);
  }
  return static_cast<uint8_t>(sign | internal::EncodeSmallMagnitude(magnitude, 4, 3));
}

/// E5M2 with infinities: bias 15, largest 57344.
FT_HOST_DEVICE constexpr float E5m2ToFloat(uint8_t code) {
  return F16ToFloat(static_cast<uint16_t>(code << 8));  // E5M2 is the upper half of an f16
}

/// Nearest, ties to even; overflow to infinity; NaN stays NaN.
FT_HOST_DEVICE constexpr uint8_t FloatToE5m2(float value) {
  const uint32_t bits = internal::BitsFromFloat(value);
  const uint32_t sign = (bits >> 24) & 0x80U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<uint8_t>(sign | 0x7EU);
  }
  if (magnitude >= 0x47700000U) {  // 61440: halfway between the largest E5M2 and the next
    return static_cast<uint8_t>(sign | 0x7CU);
  }
  return static_cast<uint8_t>(sign | internal::EncodeSmallMagnitude(magnitude, 5, 2));
}

/// E8M0, a scale: 2^(code − 127); 0 is 2^−127 (a float subnormal), 255 is NaN.
/// Source: OCP Microscaling formats specification, §5.4.1.
FT_HOST_DEVICE constexpr float E8m0ToFloat(uint8_t code) {
  if (code == 0) {
    return internal::FloatFromBits(0x00400000U);
  }
  if (code == 255) {
    return internal::FloatFromBits(0x7FC00000U);
  }
  return internal::FloatFromBits(static_cast<uint32_t>(code) << 23);
}

/// The power of two nearest below or at |value|; for tests that make weights. 0 and less give 0.
FT_HOST_DEVICE constexpr uint8_t FloatToE8m0Floor(float value) {
  const uint32_t bits = internal::BitsFromFloat(value);
  if ((bits >> 31) != 0 || bits < 0x00800000U) {
    return 0;
  }
  return static_cast<uint8_t>(bits >> 23);  // NaN and infinity give 255, which is NaN
}

/// E2M1, four bits: ±{0, 0.5, 1, 1.5, 2, 3, 4, 6}; bit 3 is the sign. Higher bits are ignored.
FT_HOST_DEVICE constexpr float E2m1ToFloat(uint8_t code) {
  return internal::DecodeSmallFloat(code & 0xFU, 2, 1);
}

/// Nearest, ties to even code; beyond 6 it saturates. NaN gives +6, as there is no other answer.
FT_HOST_DEVICE constexpr uint8_t FloatToE2m1(float value) {
  const uint32_t bits = internal::BitsFromFloat(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return 7;
  }
  const uint32_t sign = (bits >> 28) & 8U;
  if (magnitude >= 0x40C00000U) {  // 6
    return static_cast<uint8_t>(sign | 7U);
  }
  return static_cast<uint8_t>(sign | internal::EncodeSmallMagnitude(magnitude, 2, 1));
}

namespace internal {

template <size_t kSize, typename Decode>
constexpr std::array<float, kSize> MakeTable(Decode decode) {
  std::array<float, kSize> table{};
  for (size_t code = 0; code < kSize; ++code) {
    table[code] = decode(static_cast<uint8_t>(code));
  }
  return table;
}

}  // namespace internal

// Host tables, indexed by code. NVFP4 and MXFP4 pack two E2M1 codes per byte, the low nibble first.
inline constexpr std::array<float, 16> kE2m1Table = internal::MakeTable<16>(E2m1ToFloat);
inline constexpr std::array<float, 256> kE4m3Table = internal::MakeTable<256>(E4m3ToFloat);
inline constexpr std::array<float, 256> kE5m2Table = internal::MakeTable<256>(E5m2ToFloat);
inline constexpr std::array<float, 256> kE8m0Table = internal::MakeTable<256>(E8m0ToFloat);

/// Twice the value of each E2M1 code, exact in int8: what integer kernels multiply with.
inline constexpr std::array<int8_t, 16> kE2m1Doubled = {0, 1,  2,  3,  4,  6,  8,  12,
                                                        0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace ft
