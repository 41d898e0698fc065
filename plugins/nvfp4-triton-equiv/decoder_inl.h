// Decoder of NVFP4 panels for panel_kernel_inl.h: blocks of 16 columns as in e2m1_inl.h, each with
// the E4M3 scales of its 8 rows behind it.
#pragma once

#include "core/quant/kernels/e2m1_inl.h"
#include "core/quant/kernels/e4m3_inl.h"
#include "plugins/nvfp4-triton-equiv/kernel.h"

namespace ft::kernels {
namespace {

struct Nvfp4Decoder {
  static constexpr int kBlockCols = 16;
  static constexpr int kBlockBytes = kE2m1SubBytes + 8;
  static constexpr float kUnit = 1.0F;
  static constexpr bool kHasScale = true;

  Nvfp4Decoder(const PanelRef& panel, int64_t /*cols*/) {
    PackedHeader header{};
    __builtin_memcpy(&header, panel.matrix, sizeof(header));
    codes = panel.matrix + sizeof(header) + panel.index * header.panel_bytes;
    divides = header.global_divides != 0;
    // The unit of E4m3Small8 is a power of two: taken in here it changes no rounding.
    factor = Splat8(divides ? header.global_scale / kE4m3Unit : header.global_scale * kE4m3Unit);
  }

  // The very product that the format defines: scale times or by global, rounded to float.
  FT_ALWAYS_INLINE V8 Scale(int64_t block) const {
    const V8 scale = E4m3Small8(codes + block * kBlockBytes + kE2m1SubBytes);
    return divides ? scale / factor : scale * factor;
  }

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    E2m1Sub(codes + block * kBlockBytes, 0, sink);
  }

  const uint8_t* codes;
  V8 factor;
  bool divides;
};

}  // namespace
}  // namespace ft::kernels
