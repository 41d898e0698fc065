// The plain float kernels compiled for any CPU of the architecture.
#include "core/quant/builtin/float_decoder_inl.h"

namespace ft::kernels {

void F32TileGeneric(const TileArgs& args) {
  RunTile<F32Decoder>(args);
}

void F16TileGeneric(const TileArgs& args) {
  RunTile<F16Decoder>(args);
}

void Bf16TileGeneric(const TileArgs& args) {
  RunTile<Bf16Decoder>(args);
}

}  // namespace ft::kernels
