// Embedding: decodes the rows that are asked for.
#include "core/layers/embedding.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "core/base/errors.h"
#include "core/quant/dequantize.h"

namespace ft {

namespace {

constexpr size_t kMaxReadBytes = 16384;  // lies on a worker's stack

Status ReadRow(const Embedding& table, size_t row, float* out) {
  alignas(float) std::array<std::byte, kMaxReadBytes> bytes;  // NOLINT: overwritten
  const DType dtype = table.stored->dtype;
  const size_t element_bytes = DTypeBytes(dtype);
  const auto cols = static_cast<size_t>(table.cols);
  for (size_t done = 0; done < cols;) {
    const size_t count = std::min(cols - done, kMaxReadBytes / element_bytes);
    const std::span<std::byte> part(bytes.data(), count * element_bytes);
    FT_RETURN_IF_ERROR(
        table.index->ReadInto(*table.stored, (row * cols + done) * element_bytes, part));
    FT_RETURN_IF_ERROR(DecodeToFloat(dtype, part.data(), count, out + done));
    done += count;
  }
  return Status();
}

}  // namespace

Status Embedding::Gather(ThreadPool* pool, std::span<const int32_t> ids, float* out) const {
  std::mutex mutex;
  Status first_failure;
  pool->ParallelFor(ids.size(), 4, [&](uint32_t /*worker*/, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(ids[i]);
      float* to = out + static_cast<int64_t>(i) * cols;
      if (!decoded.empty()) {
        std::copy_n(decoded.data() + row * static_cast<size_t>(cols), cols, to);
        continue;
      }
      const Status status = ReadRow(*this, row, to);
      if (!status.ok()) {
        const std::lock_guard<std::mutex> lock(mutex);
        first_failure = status;
        return;
      }
    }
  });
  return first_failure;
}

}  // namespace ft
