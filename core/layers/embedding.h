// Embedding: rows of a table by token id. The table stays in the checkpoint's file, as few rows of
// it are needed in a step; a quantized one is decoded once. Rows are read, not touched in a
// mapping: a file that was cut while it is served is an error of the request, not a SIGBUS.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/checkpoint/tensor_index.h"

namespace ft {

struct Embedding {
  const TensorIndex* index = nullptr;  ///< where the table is; must outlive this
  const TensorInfo* stored = nullptr;  ///< [rows, cols] F32, F16 or BF16 of it; null if decoded
  std::vector<float> decoded;          ///< [rows, cols] where the table was quantized, else empty
  int64_t rows = 0;
  int64_t cols = 0;

  /// `out`  [ids.size(), cols], overwritten
  /// Requires: 0 <= id < rows. Errors: kDataLoss when the checkpoint's file has shrunk.
  Status Gather(ThreadPool* pool, std::span<const int32_t> ids, float* out) const;
};

}  // namespace ft
