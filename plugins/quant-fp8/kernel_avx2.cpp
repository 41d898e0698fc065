// The FP8 kernels compiled for AVX2, FMA and F16C.
#include "plugins/quant-fp8/decoder_inl.h"

namespace ft::fp8 {

void BlockTileAvx2(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Fp8BlockDecoder>(args);
}

void ChannelTileAvx2(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Fp8ChannelDecoder>(args);
}

void TensorTileAvx2(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Fp8TensorDecoder>(args);
}

}  // namespace ft::fp8
