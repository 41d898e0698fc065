// The NVFP4 kernel compiled for any CPU of the architecture.
#include "plugins/nvfp4-triton-equiv/decoder_inl.h"

namespace ft::nvfp4 {

void TileGeneric(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Nvfp4Decoder>(args);
}

}  // namespace ft::nvfp4
