// Activations of feed-forward nets, on rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/status.h"
#include "core/ops/kernels.h"

namespace ft::ops {

enum class Activation : uint8_t {
  kSilu,
  kGelu,      ///< with erf
  kGeluTanh,  ///< its approximation with tanh
};

/// Reads `hidden_act` as transformers spells it: silu, swish, gelu, gelu_pytorch_tanh, gelu_new,
/// gelu_fast. Errors: kUnimplemented with the name and what there is.
Result<Activation> ParseActivation(std::string_view name);

/// "silu", "gelu", "gelu_pytorch_tanh". Static lifetime.
const char* ActivationName(Activation activation);

/// out[i] = activation(gate[i]) * up[i]; `out` may be either input.
void GatedActivation(const Kernels& kernels,
                     Activation activation,
                     const float* gate,
                     const float* up,
                     int64_t count,
                     float* out);

/// The activation in double: the reference.
double ActivationReference(Activation activation, double x);

}  // namespace ft::ops
