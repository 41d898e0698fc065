// The plain float kernels compiled for AVX2, FMA and F16C.
#include "core/quant/builtin/float_decoder_inl.h"

namespace ft::kernels {

void F32TileAvx2(const TileArgs& args) {
  RunTile<F32Decoder>(args);
}

void F16TileAvx2(const TileArgs& args) {
  RunTile<F16Decoder>(args);
}

void Bf16TileAvx2(const TileArgs& args) {
  RunTile<Bf16Decoder>(args);
}

}  // namespace ft::kernels
