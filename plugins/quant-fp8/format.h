// FP8 (E4M3) weights as three ft_quantization tables, by what a scale covers.
#pragma once

#include "ft/plugin/quantization.h"

namespace ft::fp8 {

/// Static lifetime; their state is null.
const ft_quantization* BlockTable();    ///< "fp8_block": 128 × 128 weights
const ft_quantization* ChannelTable();  ///< "fp8_channel": a row
const ft_quantization* TensorTable();   ///< "fp8_tensor": the matrix

}  // namespace ft::fp8
