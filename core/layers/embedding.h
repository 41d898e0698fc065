// Embedding: rows of a table by token id. The table stays where the checkpoint is mapped, as few
// rows of it are touched in a step; a quantized one is decoded once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/tensor/tensor_view.h"

namespace ft {

struct Embedding {
  TensorView stored;           ///< [rows, cols] F32, F16 or BF16; its mapping must outlive this
  std::vector<float> decoded;  ///< [rows, cols] where the table was quantized, else empty
  int64_t rows = 0;
  int64_t cols = 0;

  /// `out`  [ids.size(), cols], overwritten
  /// Requires: 0 <= id < rows.
  Status Gather(ThreadPool* pool, std::span<const int32_t> ids, float* out) const;
};

}  // namespace ft
