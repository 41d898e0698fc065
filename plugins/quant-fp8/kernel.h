// The FP8 kernels, one per way of scaling and instruction set (core/quant/kernels/panel.h).
#pragma once

#include "core/quant/kernels/panel.h"

namespace ft::fp8 {

void BlockTileGeneric(const kernels::TileArgs& args);
void ChannelTileGeneric(const kernels::TileArgs& args);
void TensorTileGeneric(const kernels::TileArgs& args);

void BlockTileAvx2(const kernels::TileArgs& args);
void ChannelTileAvx2(const kernels::TileArgs& args);
void TensorTileAvx2(const kernels::TileArgs& args);

}  // namespace ft::fp8
