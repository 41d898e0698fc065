// MXFP4 as an ft_quantization: E2M1 codes, an E8M0 scale per 32 columns.
#pragma once

#include "ft/plugin/quantization.h"

namespace ft::mxfp4 {

/// Static lifetime; its state is null.
const ft_quantization* Table();

}  // namespace ft::mxfp4
