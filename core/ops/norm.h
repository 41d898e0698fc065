// Normalisation of rows. Source: ../shared/reference/models.md §0.2.
#pragma once

#include <cstdint>

#include "core/ops/kernels.h"

namespace ft::ops {

/// out = x / sqrt(mean(x²) + epsilon) * weight, one row. `x`, `weight`, `out` [dim]; out may be x.
void RmsNormRow(const Kernels& kernels,
                const float* x,
                const float* weight,
                float epsilon,
                int64_t dim,
                float* out);

/// The same in double: the reference.
void RmsNormRowReference(
    const float* x, const float* weight, double epsilon, int64_t dim, float* out);

}  // namespace ft::ops
