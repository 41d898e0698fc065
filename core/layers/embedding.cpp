// Embedding: decodes the rows that are asked for.
#include "core/layers/embedding.h"

#include <algorithm>
#include <atomic>

#include "core/base/errors.h"
#include "core/quant/dequantize.h"

namespace ft {

Status Embedding::Gather(ThreadPool* pool, std::span<const int32_t> ids, float* out) const {
  const size_t row_bytes = static_cast<size_t>(cols) * DTypeBytes(stored.dtype);
  std::atomic<bool> has_failed = false;
  pool->ParallelFor(ids.size(), 4, [&](uint32_t /*worker*/, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(ids[i]);
      float* to = out + static_cast<int64_t>(i) * cols;
      if (!decoded.empty()) {
        std::copy_n(decoded.data() + row * static_cast<size_t>(cols), cols, to);
        continue;
      }
      const auto* from = static_cast<const std::byte*>(stored.data) + row * row_bytes;
      if (!DecodeToFloat(stored.dtype, from, static_cast<size_t>(cols), to).ok()) {
        has_failed = true;
      }
    }
  });
  return has_failed ? Internal("embedding: rows of {} cannot be decoded", DTypeName(stored.dtype))
                    : Status();
}

}  // namespace ft
