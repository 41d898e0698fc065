// Decoders of the plain float formats for panel_kernel_inl.h, and their kernels' names.
// A block is 16 columns. bf16: columns 2i and 2i + 1 of a row share a dword, the even one below.
// f16, f32: the 8 rows of a column lie side by side.
#pragma once

#include "core/quant/builtin/float_kernels.h"
#include "core/quant/kernels/panel_kernel_inl.h"

namespace ft::kernels {
namespace {

template <int kBytes>
struct FloatPanel {
  static constexpr int kBlockCols = 16;
  static constexpr float kUnit = 1.0F;
  static constexpr bool kHasScale = false;

  FloatPanel(const PanelRef& panel, int64_t /*cols*/) {
    PackedHeader header{};
    __builtin_memcpy(&header, panel.matrix, sizeof(header));
    codes = panel.matrix + sizeof(header) + panel.index * header.panel_bytes;
  }

  const uint8_t* BlockCodes(int64_t block) const { return codes + block * kBlockCols * 8 * kBytes; }

  const uint8_t* codes;
};

struct F32Decoder : FloatPanel<4> {
  using FloatPanel::FloatPanel;

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    const auto* from = reinterpret_cast<const float*>(BlockCodes(block));
#pragma GCC unroll 16
    for (int k = 0; k < kBlockCols; ++k) {
      sink(k, Load8(from + k * 8));
    }
  }
};

struct Bf16Decoder : FloatPanel<2> {
  using FloatPanel::FloatPanel;

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    using U8 = uint32_t __attribute__((vector_size(32), may_alias));
    const uint8_t* from = BlockCodes(block);
#pragma GCC unroll 16
    for (int k = 0; k < kBlockCols; k += 2) {
      U8 pairs;
      __builtin_memcpy(&pairs, from + k * 16, sizeof(pairs));
      sink(k, reinterpret_cast<V8>(pairs << 16));
      sink(k + 1, reinterpret_cast<V8>(pairs & 0xFFFF0000U));
    }
  }
};

struct F16Decoder : FloatPanel<2> {
  using FloatPanel::FloatPanel;

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    const uint8_t* from = BlockCodes(block);
#pragma GCC unroll 16
    for (int k = 0; k < kBlockCols; ++k) {
#if defined(__AVX2__)
      sink(k, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k * 16))));
#else
      V8 value;
      for (int row = 0; row < 8; ++row) {
        uint16_t code = 0;
        __builtin_memcpy(&code, from + k * 16 + row * 2, sizeof(code));
        value[row] = HalfToFloat(code);
      }
      sink(k, value);
#endif
    }
  }

#if !defined(__AVX2__)
  static float HalfToFloat(uint16_t code) {
    const uint32_t sign = static_cast<uint32_t>(code & 0x8000U) << 16;
    const uint32_t magnitude = code & 0x7FFFU;
    uint32_t bits = 0;
    if (magnitude >= 0x7C00U) {
      bits = 0x7F800000U | (magnitude << 13);
    } else if (magnitude >= 0x0400U) {
      bits = (magnitude << 13) + ((127U - 15U) << 23);
    } else {
      const float tiny = static_cast<float>(magnitude) * 0x1p-24F;
      __builtin_memcpy(&bits, &tiny, sizeof(bits));
    }
    bits |= sign;
    float value = 0.0F;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  }
#endif
};

}  // namespace
}  // namespace ft::kernels
