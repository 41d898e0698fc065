// Decoder of MXFP4 panels for panel_kernel_inl.h: blocks of 32 columns, each two of e2m1_inl.h and
// the E8M0 scales of its 8 rows behind them.
#pragma once

#include "core/quant/kernels/e2m1_inl.h"
#include "plugins/quant-mxfp4/kernel.h"

namespace ft::kernels {
namespace {

struct Mxfp4Decoder {
  static constexpr int kBlockCols = 32;
  static constexpr int kBlockBytes = 2 * kE2m1SubBytes + 8;
  static constexpr float kUnit = 1.0F;
  static constexpr bool kHasScale = true;

  Mxfp4Decoder(const PanelRef& panel, int64_t /*cols*/) {
    PackedHeader header{};
    __builtin_memcpy(&header, panel.matrix, sizeof(header));
    codes = panel.matrix + sizeof(header) + panel.index * header.panel_bytes;
  }

  // 2^(code − 127): the code is a float's exponent, but for 0 (a subnormal) and 255 (NaN), which
  // both want the top bit of the mantissa.
  FT_ALWAYS_INLINE V8 Scale(int64_t block) const {
    using U8 = uint32_t __attribute__((vector_size(32), may_alias));
    const uint8_t* from = codes + block * kBlockBytes + 2 * kE2m1SubBytes;
#if defined(__AVX2__)
    const auto code = reinterpret_cast<U8>(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
    U8 code;
    for (int row = 0; row < 8; ++row) {
      code[row] = from[row];
    }
#endif
    const auto is_special = reinterpret_cast<U8>((code == 0) | (code == 255));
    return reinterpret_cast<V8>((code << 23) | (is_special & 0x00400000U));
  }

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    E2m1Sub(codes + block * kBlockBytes, 0, sink);
    E2m1Sub(codes + block * kBlockBytes + kE2m1SubBytes, 16, sink);
  }

  const uint8_t* codes;
};

}  // namespace
}  // namespace ft::kernels
