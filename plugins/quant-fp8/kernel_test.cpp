// The Fp8 kernels of both instruction sets against each other. Spellings and numerics are
// tests/conformance.
#include "plugins/quant-fp8/kernel.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/quant/kernels/isa.h"
#include "core/quant/quantization.h"
#include "plugins/quant-fp8/format.h"

namespace ft::fp8 {
namespace {

// Random positive codes and scales: no cancellation, so the sums must agree closely.
void ExpectAgree(const ft_quantization* table,
                 kernels::TileFn fast_tile,
                 kernels::TileFn plain_tile) {
  std::mt19937 random(3);
  const int64_t cols = 333;
  const auto panel_bytes =
      static_cast<int64_t>(Quantization(table, nullptr, "test").PackedBytes(0, 8, cols).value()) -
      static_cast<int64_t>(sizeof(kernels::PackedHeader));
  std::vector<uint8_t> packed(sizeof(kernels::PackedHeader) + static_cast<size_t>(2 * panel_bytes));
  for (uint8_t& byte : packed) {
    byte = static_cast<uint8_t>(random() & 0x3FU);
  }
  kernels::PackedHeader header = {};
  header.global_scale = 0.3F;
  header.panel_bytes = panel_bytes;
  std::memcpy(packed.data(), &header, sizeof(header));
  for (const int64_t num_tokens : {1, 2, 3, 7, 64}) {
    std::vector<float> x(static_cast<size_t>(num_tokens * cols));
    for (float& value : x) {
      value = static_cast<float>(random() % 1000) * 0.001F;
    }
    std::vector<float> fast(static_cast<size_t>(num_tokens * 16));
    std::vector<float> plain(fast.size());
    kernels::TileArgs args;
    args.panels[0] = {packed.data(), 0};
    args.panels[1] = {packed.data(), 1};
    args.num_panels = 2;
    args.cols = cols;
    args.x = x.data();
    args.x_stride = cols;
    args.num_tokens = num_tokens;
    args.out = fast.data();
    fast_tile(args);
    args.out = plain.data();
    plain_tile(args);
    for (size_t i = 0; i < fast.size(); ++i) {
      ASSERT_NEAR(fast[i], plain[i], 2e-5F * std::abs(plain[i])) << i << " of " << num_tokens;
    }
  }
}

TEST(Fp8KernelTest, TheKernelsOfBothInstructionSetsAgree) {
  if (!kernels::HasAvx2()) {
    GTEST_SKIP() << "this CPU has no AVX2";
  }
  ExpectAgree(BlockTable(), BlockTileAvx2, BlockTileGeneric);
  ExpectAgree(ChannelTable(), ChannelTileAvx2, ChannelTileGeneric);
  ExpectAgree(TensorTable(), TensorTileAvx2, TensorTileGeneric);
}

}  // namespace
}  // namespace ft::fp8
