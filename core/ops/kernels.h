// Leaf kernels of dense f32 math: loops over contiguous floats for one thread. One table per
// instruction set, chosen once; ops above them split rows over threads. Every result is a fixed
// function of the arguments: lanes are added in one order, whatever the alignment.
#pragma once

#include <cstdint>

namespace ft::ops {

struct Kernels {
  const char* name;  ///< "generic", "avx2"

  /// out[i] = sum over c of rows[i][c] * x[c]. `x` [dim], `out` [num_rows]
  void (*dot_rows)(
      const float* const* rows, int64_t num_rows, const float* x, int64_t dim, float* out);
  /// sum[c] += weights[0]*rows[0][c], then row 1, and so on. `sum` [dim]
  void (*add_rows)(
      const float* const* rows, const float* weights, int64_t num_rows, int64_t dim, float* sum);
  /// x[i] = exp(x[i] - shift) in place; returns their sum. Requires x[i] <= shift. Relative error
  /// below 2e-7 down to exp(-87); smaller ones give about 1e-38.
  float (*exp_sum)(float* x, int64_t count, float shift);
  /// The largest element; `count` > 0.
  float (*max)(const float* x, int64_t count);
  /// x[i] *= factor.
  void (*scale)(float* x, int64_t count, float factor);
  float (*sum_squares)(const float* x, int64_t count);
  /// out[i] = x[i] * factor * weight[i].
  void (*scale_by)(const float* x, float factor, const float* weight, int64_t count, float* out);
  /// y[i] += x[i].
  void (*add)(const float* x, int64_t count, float* y);
  /// out[i] = silu(gate[i]) * up[i], or gelu with tanh. `out` may be either input.
  void (*silu_mul)(const float* gate, const float* up, int64_t count, float* out);
  void (*gelu_tanh_mul)(const float* gate, const float* up, int64_t count, float* out);
  /// Turns the pairs (i, i+half) of x [2*half] by their angles.
  void (*rotate_half)(float* x, const float* cos, const float* sin, int64_t half);
};

/// The best table for this CPU.
const Kernels& BestKernels();

/// The portable one.
const Kernels& GenericKernels();

/// Null where this build or CPU has none.
const Kernels* Avx2Kernels();

}  // namespace ft::ops
