// The kernel of packed matrices (panel.h) for any format and instruction set: include it in one
// translation unit per instruction set. Everything is in an unnamed namespace and calls no inline
// function of another header, or the linker could hand AVX2 code to a CPU without it.
//
// A format brings a Decoder:
//   static constexpr int kBlockCols;    16 or 32
//   static constexpr float kUnit;       what the sums are multiplied with at the end (power of two)
//   Decoder(const PanelRef&, int64_t cols);
//   static constexpr bool kHasScale;
//   V8 Scale(int64_t block) const;               factor of 8 rows in that block, if it has one
//   void Block(int64_t block, Sink sink) const;  calls sink(k, V8 codes of 8 rows) for k in order
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#  include <immintrin.h>
#endif

#include "core/quant/kernels/panel.h"

// Decoders and sinks must melt into the loop.
#define FT_ALWAYS_INLINE __attribute__((always_inline))

namespace ft::kernels {
namespace {

using V8 = float __attribute__((vector_size(32), may_alias));  // 8 rows

inline FT_ALWAYS_INLINE V8 Load8(const float* from) {
  V8 value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline FT_ALWAYS_INLINE void Store8(float* to, V8 value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

inline FT_ALWAYS_INLINE V8 Splat8(float value) {
  return V8{value, value, value, value, value, value, value, value};
}

inline FT_ALWAYS_INLINE V8 MulAdd8(V8 a, V8 b, V8 c) {
#if defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

constexpr int64_t kChunkCols = 128;  // decoded at once for many tokens: 2 panels are 8 KiB in L1
constexpr int kMaxBlockCols = 32;

template <class Decoder>
inline FT_ALWAYS_INLINE V8 ScaleOf(const Decoder& decoder, int64_t block) {
  if constexpr (Decoder::kHasScale) {
    return decoder.Scale(block);
  } else {
    return V8{};
  }
}

// acc + scale · sum of a block.
template <class Decoder>
inline FT_ALWAYS_INLINE V8 Finish(V8 scale, V8 sum, V8 acc) {
  if constexpr (Decoder::kHasScale) {
    return MulAdd8(scale, sum, acc);
  } else {
    return acc + sum;
  }
}

// The columns of a block are summed in interleaved chains of eight, which hides the latency of the
// additions, and the chains pairwise. Direct and Buffered keep to this one order.
template <class Decoder>
constexpr size_t kChains = Decoder::kBlockCols / 8;

template <size_t kCount>
inline FT_ALWAYS_INLINE V8 SumChains(const V8* chains) {
  static_assert(kCount == 2 || kCount == 4);
  if constexpr (kCount == 2) {
    return chains[0] + chains[1];
  } else {
    return (chains[0] + chains[1]) + (chains[2] + chains[3]);
  }
}

// One or two tokens: weights go from their codes straight into the sums, one panel after the other.
// No prefetches: a panel is one stream, which the hardware follows better alone (bf16 from DRAM,
// one Zen 4 core: 0.95 of a plain read without, 0.6 to 0.85 with any distance).
template <class Decoder, size_t kTokens>
void DirectTokens(const TileArgs& args, const float* const* x, const float* const* tail) {
  constexpr int kCols = Decoder::kBlockCols;
  constexpr size_t kCount = kChains<Decoder>;
  const int64_t whole = args.cols / kCols;
  const int64_t blocks = (args.cols + kCols - 1) / kCols;
  for (int panel = 0; panel < args.num_panels; ++panel) {
    const Decoder decoder(args.panels[panel], args.cols);
    V8 acc[kTokens] = {};
    for (int64_t block = 0; block < blocks; ++block) {
      const float* from[kTokens];
#pragma GCC unroll 2
      for (size_t t = 0; t < kTokens; ++t) {
        from[t] = block < whole ? x[t] + block * kCols : tail[t];
      }
      V8 sum[kTokens][kCount] = {};
      decoder.Block(block, [&](int k, V8 weights) FT_ALWAYS_INLINE {
#pragma GCC unroll 2
        for (size_t t = 0; t < kTokens; ++t) {
          V8& chain = sum[t][static_cast<size_t>(k) % kCount];
          chain = MulAdd8(weights, Splat8(from[t][k]), chain);
        }
      });
      const V8 scale = ScaleOf(decoder, block);
#pragma GCC unroll 2
      for (size_t t = 0; t < kTokens; ++t) {
        acc[t] = Finish<Decoder>(scale, SumChains<kCount>(sum[t]), acc[t]);
      }
    }
#pragma GCC unroll 2
    for (size_t t = 0; t < kTokens; ++t) {
      Store8(args.out + t * 16 + panel * 8, acc[t] * Splat8(Decoder::kUnit));
    }
  }
}

// Up to four of many tokens: the same sums in the same order, from weights decoded to L1.
// decoded: [2][chunk_cols][8].
template <class Decoder, size_t kTokens>
void BufferedTokens(const Decoder* const* decoders,
                    int64_t first_block,
                    int64_t num_blocks,
                    const float* decoded,
                    const float* const* x,
                    float* out) {
  constexpr int kCols = Decoder::kBlockCols;
  constexpr size_t kCount = kChains<Decoder>;
  for (int64_t block = 0; block < num_blocks; ++block) {
    const float* weights = decoded + block * kCols * 8;
    V8 chains[2][kTokens][kCount];
#pragma GCC unroll 4
    for (size_t chain = 0; chain < kCount; ++chain) {
      V8 sum[2][kTokens] = {};
#pragma GCC unroll 8
      for (size_t k = chain; k < kCols; k += kCount) {
        const V8 w0 = Load8(weights + k * 8);
        const V8 w1 = Load8(weights + kChunkCols * 8 + k * 8);
#pragma GCC unroll 4
        for (size_t t = 0; t < kTokens; ++t) {
          const V8 value = Splat8(x[t][static_cast<size_t>(block * kCols) + k]);
          sum[0][t] = MulAdd8(w0, value, sum[0][t]);
          sum[1][t] = MulAdd8(w1, value, sum[1][t]);
        }
      }
#pragma GCC unroll 4
      for (size_t t = 0; t < kTokens; ++t) {
        chains[0][t][chain] = sum[0][t];
        chains[1][t][chain] = sum[1][t];
      }
    }
#pragma GCC unroll 2
    for (int panel = 0; panel < 2; ++panel) {
      const V8 scale = ScaleOf(*decoders[panel], first_block + block);
#pragma GCC unroll 4
      for (size_t t = 0; t < kTokens; ++t) {
        float* acc = out + t * 16 + panel * 8;
        Store8(acc, Finish<Decoder>(scale, SumChains<kCount>(chains[panel][t]), Load8(acc)));
      }
    }
  }
}

// One kernel, kept in sight.
template <class Decoder>
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
void BufferedTile(const TileArgs& args, const float* const* x, const float* tails) {
  constexpr int kCols = Decoder::kBlockCols;
  alignas(32) float decoded[2 * kChunkCols * 8];
  const Decoder first(args.panels[0], args.cols);
  const Decoder second(args.panels[args.num_panels - 1], args.cols);
  const Decoder* const decoders[2] = {&first, &second};
  const int64_t num_tokens = args.num_tokens;
  for (int64_t i = 0; i < num_tokens * 16; ++i) {
    args.out[i] = 0.0F;
  }
  const int64_t whole = args.cols / kCols;
  const int64_t blocks = (args.cols + kCols - 1) / kCols;
  constexpr int64_t kChunkBlocks = kChunkCols / kCols;
  for (int64_t at = 0; at < blocks;) {
    // The last, partial block is a chunk of its own: its x comes from the padded copies.
    const int64_t end =
        at < whole ? (at + kChunkBlocks < whole ? at + kChunkBlocks : whole) : blocks;
    for (int64_t block = at; block < end; ++block) {
      for (int panel = 0; panel < args.num_panels; ++panel) {
        float* to = decoded + panel * kChunkCols * 8 + (block - at) * kCols * 8;
        decoders[panel]->Block(
            block, [&](int k, V8 weights) FT_ALWAYS_INLINE { Store8(to + k * 8, weights); });
      }
    }
    if (args.num_panels == 1) {
      for (int64_t i = 0; i < (end - at) * kCols * 8; ++i) {
        decoded[kChunkCols * 8 + i] = 0.0F;
      }
    }
    for (int64_t t = 0; t < num_tokens; t += 4) {
      const float* from[4];
      const int64_t count = num_tokens - t < 4 ? num_tokens - t : 4;
      for (int64_t i = 0; i < count; ++i) {
        from[i] = at < whole ? x[t + i] + at * kCols : tails + (t + i) * kMaxBlockCols;
      }
      float* out = args.out + t * 16;
      switch (count) {
        case 1:
          BufferedTokens<Decoder, 1>(decoders, at, end - at, decoded, from, out);
          break;
        case 2:
          BufferedTokens<Decoder, 2>(decoders, at, end - at, decoded, from, out);
          break;
        case 3:
          BufferedTokens<Decoder, 3>(decoders, at, end - at, decoded, from, out);
          break;
        default:
          BufferedTokens<Decoder, 4>(decoders, at, end - at, decoded, from, out);
          break;
      }
    }
    at = end;
  }
  for (int64_t i = 0; i < num_tokens * 16; i += 8) {
    Store8(args.out + i, Load8(args.out + i) * Splat8(Decoder::kUnit));
  }
}

/// The TileFn of a format.
template <class Decoder>
void RunTile(const TileArgs& args) {
  constexpr int kCols = Decoder::kBlockCols;
  static_assert(kCols <= kMaxBlockCols && kChunkCols % kCols == 0);
  const float* x[kTileTokens];
  const float* tail[kTileTokens];
  float tails[kTileTokens * kMaxBlockCols];
  const int64_t rest = args.cols % kCols;
  for (int64_t t = 0; t < args.num_tokens; ++t) {
    const int64_t row = args.tokens == nullptr ? t : args.tokens[t];
    x[t] = args.x + row * args.x_stride;
    tail[t] = tails + t * kMaxBlockCols;
    for (int64_t k = 0; rest != 0 && k < kCols; ++k) {
      tails[t * kMaxBlockCols + k] = k < rest ? x[t][args.cols - rest + k] : 0.0F;
    }
  }
  switch (args.num_tokens) {
    case 1:
      DirectTokens<Decoder, 1>(args, x, tail);
      break;
    case 2:
      DirectTokens<Decoder, 2>(args, x, tail);
      break;
    default:
      BufferedTile<Decoder>(args, x, tails);
      break;
  }
}

}  // namespace
}  // namespace ft::kernels
