// The MXFP4 kernels, one per instruction set (core/quant/kernels/panel.h).
#pragma once

#include "core/quant/kernels/panel.h"

namespace ft::mxfp4 {

void TileGeneric(const kernels::TileArgs& args);
void TileAvx2(const kernels::TileArgs& args);

}  // namespace ft::mxfp4
