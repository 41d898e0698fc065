// Decoders of FP8 panels for panel_kernel_inl.h: blocks of 32 columns, each eight groups of four as
// in e4m3_inl.h. Behind all codes of a panel: one float per 128 columns (block; the 8 rows share
// it), 8 floats (channel), or nothing (tensor: the factor is in the header).
#pragma once

#include "core/quant/kernels/e4m3_inl.h"
#include "plugins/quant-fp8/kernel.h"

namespace ft::kernels {
namespace {

struct Fp8Panel {
  static constexpr int kBlockCols = 32;
  static constexpr float kUnit = kE4m3Unit;
  static constexpr bool kHasScale = true;

  Fp8Panel(const PanelRef& panel, int64_t cols) {
    PackedHeader header{};
    __builtin_memcpy(&header, panel.matrix, sizeof(header));
    codes = panel.matrix + sizeof(header) + panel.index * header.panel_bytes;
    scales = reinterpret_cast<const float*>(codes + (cols + kBlockCols - 1) / kBlockCols * 256);
    global = header.global_scale;
  }

  template <class Sink>
  FT_ALWAYS_INLINE void Block(int64_t block, Sink&& sink) const {
    const uint8_t* from = codes + block * 256;
#pragma GCC unroll 8
    for (int k = 0; k < kBlockCols; k += 4) {
      E4m3Columns(from + k * 8, k, sink);
    }
  }

  const uint8_t* codes;
  const float* scales;
  float global;
};

struct Fp8BlockDecoder : Fp8Panel {
  using Fp8Panel::Fp8Panel;

  FT_ALWAYS_INLINE V8 Scale(int64_t block) const { return Splat8(scales[block / 4]); }
};

struct Fp8ChannelDecoder : Fp8Panel {
  using Fp8Panel::Fp8Panel;

  FT_ALWAYS_INLINE V8 Scale(int64_t /*block*/) const { return Load8(scales); }
};

struct Fp8TensorDecoder : Fp8Panel {
  using Fp8Panel::Fp8Panel;

  FT_ALWAYS_INLINE V8 Scale(int64_t /*block*/) const { return Splat8(global); }
};

}  // namespace
}  // namespace ft::kernels
