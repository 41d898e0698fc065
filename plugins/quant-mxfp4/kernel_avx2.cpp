// The MXFP4 kernel compiled for AVX2, FMA and F16C.
#include "plugins/quant-mxfp4/decoder_inl.h"

namespace ft::mxfp4 {

void TileAvx2(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Mxfp4Decoder>(args);
}

}  // namespace ft::mxfp4
