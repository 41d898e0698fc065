// The kernels of the plain float formats, one set per instruction set (panel.h).
#pragma once

#include "core/quant/kernels/panel.h"

namespace ft::kernels {

void F32TileGeneric(const TileArgs& args);
void F16TileGeneric(const TileArgs& args);
void Bf16TileGeneric(const TileArgs& args);

void F32TileAvx2(const TileArgs& args);
void F16TileAvx2(const TileArgs& args);
void Bf16TileAvx2(const TileArgs& args);

}  // namespace ft::kernels
