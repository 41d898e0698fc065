// Normalisation of rows.
#include "core/ops/norm.h"

#include <cmath>

namespace ft::ops {

void RmsNormRow(const Kernels& kernels,
                const float* x,
                const float* weight,
                float epsilon,
                int64_t dim,
                float* out) {
  const float mean = kernels.sum_squares(x, dim) / static_cast<float>(dim);
  kernels.scale_by(x, 1.0F / std::sqrt(mean + epsilon), weight, dim, out);
}

void RmsNormRowReference(
    const float* x, const float* weight, double epsilon, int64_t dim, float* out) {
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double factor = 1.0 / std::sqrt(sum / static_cast<double>(dim) + epsilon);
  for (int64_t i = 0; i < dim; ++i) {
    out[i] =
        static_cast<float>(static_cast<double>(x[i]) * factor * static_cast<double>(weight[i]));
  }
}

}  // namespace ft::ops
