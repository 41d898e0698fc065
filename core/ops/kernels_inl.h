// The kernels of kernels.h on vectors of eight floats, compiled once per instruction set: the
// includer defines FT_KERNELS_NAMESPACE. Written with the compilers' vector extension, which falls
// back to narrower registers, so that all levels share one source. No library call here: an inline
// function compiled for AVX2 must not become the one that everyone links.
#include <cstdint>

#include "core/ops/kernels.h"

// All of it is internal to its includer.  NOLINTBEGIN(misc-definitions-in-headers)
namespace ft::ops::FT_KERNELS_NAMESPACE {
namespace {

constexpr int64_t kLanes = 8;
using V8 = float __attribute__((vector_size(32)));
using I8 = int32_t __attribute__((vector_size(32)));

#define FT_INLINE inline __attribute__((always_inline))

FT_INLINE V8 Load(const float* p) {
  V8 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

FT_INLINE void Store(float* p, const V8& v) {
  __builtin_memcpy(p, &v, sizeof v);
}

FT_INLINE V8 Splat(float x) {
  return V8{x, x, x, x, x, x, x, x};
}

FT_INLINE V8 LoadPart(const float* p, int64_t count, float fill) {
  V8 v = Splat(fill);
  for (int64_t i = 0; i < count; ++i) {
    v[i] = p[i];
  }
  return v;
}

FT_INLINE void StorePart(float* p, int64_t count, const V8& v) {
  for (int64_t i = 0; i < count; ++i) {
    p[i] = v[i];
  }
}

FT_INLINE float Sum(const V8& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// exp for |x| < 87: x = n·ln2 + r, |r| <= ln2/2, a polynomial of degree 6 for e^r.
// Source: Cephes expf; ln2 in two parts so that n·ln2 is exact where it matters.
FT_INLINE V8 Exp(V8 x) {
  const V8 low = Splat(-87.3F);
  const V8 high = Splat(88.3F);
  x = x < low ? low : x;
  x = x > high ? high : x;
  const V8 magic = Splat(12582912.0F);  // 1.5·2^23: adding it rounds to an integer
  const V8 n = (x * Splat(1.44269504088896341F) + magic) - magic;
  V8 r = x - n * Splat(0.693359375F);
  r = r - n * Splat(-2.12194440e-4F);
  V8 p = Splat(1.9875691500e-4F);
  p = p * r + Splat(1.3981999507e-3F);
  p = p * r + Splat(8.3334519073e-3F);
  p = p * r + Splat(4.1665795894e-2F);
  p = p * r + Splat(1.6666665459e-1F);
  p = p * r + Splat(5.0000001201e-1F);
  p = p * r * r + r + Splat(1.0F);
  const I8 exponent = (__builtin_convertvector(n, I8) + 127) << 23;
  V8 power;
  __builtin_memcpy(&power, &exponent, sizeof power);
  return p * power;
}

FT_INLINE V8 Silu(const V8& x) {
  return x / (Splat(1.0F) + Exp(-x));
}

// 0.5·x·(1 + tanh(u)) with tanh(u) = 1 − 2/(e^2u + 1), so x·(1 − 1/(e^2u + 1)).
FT_INLINE V8 GeluTanh(const V8& x) {
  const V8 u = Splat(0.7978845608028654F) * (x + Splat(0.044715F) * x * x * x);
  return x * (Splat(1.0F) - Splat(1.0F) / (Exp(u + u) + Splat(1.0F)));
}

float Dot(const float* a, const float* b, int64_t count) {
  V8 s0 = Splat(0);
  V8 s1 = Splat(0);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    s0 += Load(a + i) * Load(b + i);
    s1 += Load(a + i + kLanes) * Load(b + i + kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) {
    s0 += Load(a + i) * Load(b + i);
  }
  float sum = Sum(s0 + s1);
  for (; i < count; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

void DotRows(const float* const* rows, int64_t num_rows, const float* x, int64_t dim, float* out) {
  for (int64_t row = 0; row < num_rows; ++row) {
    out[row] = Dot(rows[row], x, dim);
  }
}

void AddRows(
    const float* const* rows, const float* weights, int64_t num_rows, int64_t dim, float* sum) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= dim; c += 4 * kLanes) {  // four registers stay while all rows pass
    V8 s0 = Load(sum + c);
    V8 s1 = Load(sum + c + kLanes);
    V8 s2 = Load(sum + c + 2 * kLanes);
    V8 s3 = Load(sum + c + 3 * kLanes);
    for (int64_t row = 0; row < num_rows; ++row) {
      const float* p = rows[row] + c;
      const V8 w = Splat(weights[row]);
      s0 += w * Load(p);
      s1 += w * Load(p + kLanes);
      s2 += w * Load(p + 2 * kLanes);
      s3 += w * Load(p + 3 * kLanes);
    }
    Store(sum + c, s0);
    Store(sum + c + kLanes, s1);
    Store(sum + c + 2 * kLanes, s2);
    Store(sum + c + 3 * kLanes, s3);
  }
  for (; c < dim; ++c) {
    float s = sum[c];
    for (int64_t row = 0; row < num_rows; ++row) {
      s += weights[row] * rows[row][c];
    }
    sum[c] = s;
  }
}

float ExpSum(float* x, int64_t count, float shift) {
  V8 sum = Splat(0);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V8 e = Exp(Load(x + i) - Splat(shift));
    Store(x + i, e);
    sum += e;
  }
  if (i < count) {
    const V8 e = Exp(LoadPart(x + i, count - i, shift) - Splat(shift));
    StorePart(x + i, count - i, e);
    sum += LoadPart(x + i, count - i, 0);
  }
  return Sum(sum);
}

float Max(const float* x, int64_t count) {
  float best = x[0];
  for (int64_t i = 1; i < count; ++i) {
    best = x[i] > best ? x[i] : best;
  }
  return best;
}

void Scale(float* x, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] *= factor;
  }
}

float SumSquares(const float* x, int64_t count) {
  return Dot(x, x, count);
}

void ScaleBy(const float* x, float factor, const float* weight, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * factor * weight[i];
  }
}

void Add(const float* x, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] += x[i];
  }
}

template <V8 (*kAct)(const V8&)>
void ActMul(const float* gate, const float* up, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store(out + i, kAct(Load(gate + i)) * Load(up + i));
  }
  if (i < count) {
    const V8 g = LoadPart(gate + i, count - i, 0);
    StorePart(out + i, count - i, kAct(g) * LoadPart(up + i, count - i, 0));
  }
}

void RotateHalf(float* x, const float* cos, const float* sin, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * cos[i] - b * sin[i];
    x[i + half] = b * cos[i] + a * sin[i];
  }
}

#undef FT_INLINE

constexpr Kernels MakeKernels(const char* name) {
  return {.name = name,
          .dot_rows = DotRows,
          .add_rows = AddRows,
          .exp_sum = ExpSum,
          .max = Max,
          .scale = Scale,
          .sum_squares = SumSquares,
          .scale_by = ScaleBy,
          .add = Add,
          .silu_mul = ActMul<Silu>,
          .gelu_tanh_mul = ActMul<GeluTanh>,
          .rotate_half = RotateHalf};
}

}  // namespace
}  // namespace ft::ops::FT_KERNELS_NAMESPACE

// NOLINTEND(misc-definitions-in-headers)
