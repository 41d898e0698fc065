// Decoder of NVFP4 panels for panel_kernel_inl.h: blocks of 16 columns as in e2m1_inl.h, and behind
// all codes of the panel one E4M3 scale per block and row, 8 rows side by side.
#pragma once

#include "core/quant/kernels/e2m1_inl.h"
#include "core/quant/kernels/e4m3_inl.h"
#include "plugins/nvfp4-triton-equiv/kernel.h"

namespace ft::kernels {
namespace {

struct Nvfp4Decoder {
  static constexpr int kBlockCols = 16;
  static constexpr int kBlockBytes = kE2m1SubBytes;
  static constexpr float kUnit = 0.5F;  // the codes are doubled
  static constexpr bool kHasScale = true;

  Nvfp4Decoder(const PanelRef& panel, int64_t cols) {
    PackedHeader header;
    __builtin_memcpy(&header, panel.matrix, sizeof(header));
    codes = panel.matrix + sizeof(header) + panel.index * header.panel_bytes;
    scales = codes + cols / kBlockCols * kE2m1SubBytes;
    global = header.global_scale;
    divides = header.global_divides != 0;
  }

  // The very product that the format defines: scale times or by global, rounded to float.
  FT_ALWAYS_INLINE V8 Scale(int64_t block) const {
    const V8 scale = E4m3Small8(scales + block * 8) * Splat8(kE4m3Unit);
    return divides ? scale / Splat8(global) : scale * Splat8(global);
  }

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    E2m1Sub(codes + block * kE2m1SubBytes, 0, sink);
  }

  const uint8_t* codes;
  const uint8_t* scales;
  float global;
  bool divides;
};

}  // namespace
}  // namespace ft::kernels
