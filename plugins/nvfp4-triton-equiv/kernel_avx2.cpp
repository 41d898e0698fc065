// The NVFP4 kernel compiled for AVX2, FMA and F16C.
#include "plugins/nvfp4-triton-equiv/decoder_inl.h"

namespace ft::nvfp4 {

void TileAvx2(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Nvfp4Decoder>(args);
}

}  // namespace ft::nvfp4
