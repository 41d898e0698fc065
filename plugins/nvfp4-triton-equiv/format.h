// NVFP4 as an ft_quantization: E2M1 codes, an E4M3 scale per 16 columns, one global scale.
#pragma once

#include "ft/plugin/quantization.h"

namespace ft::nvfp4 {

/// Static lifetime; its state is null.
const ft_quantization* Table();

}  // namespace ft::nvfp4
