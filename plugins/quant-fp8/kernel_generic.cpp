// The FP8 kernels compiled for any CPU of the architecture.
#include "plugins/quant-fp8/decoder_inl.h"

namespace ft::fp8 {

void BlockTileGeneric(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Fp8BlockDecoder>(args);
}

void ChannelTileGeneric(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Fp8ChannelDecoder>(args);
}

void TensorTileGeneric(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Fp8TensorDecoder>(args);
}

}  // namespace ft::fp8
