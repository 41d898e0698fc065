// Activations of feed-forward nets.
#include "core/ops/activation.h"

#include <cmath>

#include "core/base/errors.h"

namespace ft::ops {

Result<Activation> ParseActivation(std::string_view name) {
  if (name == "silu" || name == "swish") {
    return Activation::kSilu;
  }
  if (name == "gelu") {
    return Activation::kGelu;
  }
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast") {
    return Activation::kGeluTanh;
  }
  return Unimplemented("activation \"{}\": ft has silu, gelu and gelu_pytorch_tanh", name);
}

const char* ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_pytorch_tanh";
  }
  return "?";
}

void GatedActivation(const Kernels& kernels,
                     Activation activation,
                     const float* gate,
                     const float* up,
                     int64_t count,
                     float* out) {
  switch (activation) {
    case Activation::kSilu:
      kernels.silu_mul(gate, up, count, out);
      return;
    case Activation::kGeluTanh:
      kernels.gelu_tanh_mul(gate, up, count, out);
      return;
    case Activation::kGelu:
      for (int64_t i = 0; i < count; ++i) {
        const float x = gate[i];
        out[i] = 0.5F * x * (1.0F + std::erf(x * 0.70710678118654752F)) * up[i];
      }
      return;
  }
}

double ActivationReference(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1.0 +
              std::tanh(std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

}  // namespace ft::ops
