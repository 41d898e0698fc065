// The built-in formats bf16, f16 and f32 as ft_quantization tables: what a plugin's format is, kept
// in the program because every checkpoint has such tensors.
#pragma once

#include "ft/plugin/quantization.h"

#include "core/base/status.h"
#include "core/quant/quantization.h"

namespace ft {

/// Tables of static lifetime; their state is null.
const ft_quantization* BuiltinBf16();
const ft_quantization* BuiltinF16();
const ft_quantization* BuiltinF32();

/// Adds the three. Errors: kInvalidArgument when one is there already.
Status RegisterBuiltinQuantizations(QuantizationRegistry* registry);

}  // namespace ft
