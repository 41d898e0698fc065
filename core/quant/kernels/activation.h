// The activations of experts on one value, as ft/plugin/quantization.h defines them. A template so
// that the reference runs the same text in double.
#pragma once

#include <cmath>

#include "ft/plugin/quantization.h"

namespace ft::kernels {

/// The activation of one layer kind, its numbers as `Float`.
template <typename Float>
struct Activation {
  uint32_t kind;
  bool is_gated;
  Float alpha;
  Float limit;  ///< 0: none

  explicit Activation(const ft_expert_kind& expert)
      : kind(expert.activation),
        is_gated((expert.flags & FT_EXPERT_GATED) != 0),
        alpha(static_cast<Float>(expert.act_alpha)),
        limit(static_cast<Float>(expert.act_limit)) {}

  /// `gate` is ignored without gating. NaN stays NaN.
  Float operator()(Float gate, Float up) const {
    if (limit > 0) {
      gate = gate > limit ? limit : gate;
      up = up > limit ? limit : (up < -limit ? -limit : up);
    }
    if (kind == FT_ACT_SWIGLU_OAI) {
      return (up + 1) * gate / (1 + std::exp(-alpha * gate));
    }
    return is_gated ? Single(gate) * up : Single(up);
  }

 private:
  Float Single(Float value) const {
    switch (kind) {
      case FT_ACT_GELU:
        return value * Float(0.5) * (1 + std::erf(value * Float(0.70710678118654752440)));
      case FT_ACT_GELU_TANH: {
        const Float inner = value + Float(0.044715) * value * value * value;
        return value * Float(0.5) * (1 + std::tanh(Float(0.79788456080286535588) * inner));
      }
      case FT_ACT_RELU2:
        return value > 0 ? value * value : (value == value ? Float(0) : value);
      default:  // FT_ACT_SILU; the kind was checked
        return value / (1 + std::exp(-value));
    }
  }
};

}  // namespace ft::kernels
