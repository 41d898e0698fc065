// TensorView: what bytes mean and where they are. Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"

namespace ft {

using Shape = std::vector<int64_t>;

/// Product of the extents; 1 for a scalar.
inline int64_t NumElements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// "[2, 3]".
std::string ShapeString(const Shape& shape);

/// Row-major, contiguous. `data` is borrowed and must outlive the view.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;

  int64_t num_elements() const { return NumElements(shape); }

  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * DTypeBytes(dtype); }
};

}  // namespace ft
