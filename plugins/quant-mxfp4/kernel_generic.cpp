// The MXFP4 kernel compiled for any CPU of the architecture.
#include "plugins/quant-mxfp4/decoder_inl.h"

namespace ft::mxfp4 {

void TileGeneric(const kernels::TileArgs& args) {
  kernels::RunTile<kernels::Mxfp4Decoder>(args);
}

}  // namespace ft::mxfp4
