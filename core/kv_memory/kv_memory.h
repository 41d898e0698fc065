// KvMemory: the buffers behind cache pages and recurrent state, in host memory. It knows no
// sequence and hands out no page: which page belongs to whom is core/kv and the scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/kv_memory/cache_layout.h"

namespace ft {

/// Where the rows of one layer's pages are. Row of a token = base + (page * page_size + offset in
/// page) * row_elements.
struct KvLayerView {
  float* base = nullptr;
  int64_t page_size_tokens = 0;
  int64_t row_elements = 0;  ///< elements_per_token of this layer
  int64_t num_pages = 0;

  float* Row(int32_t page, int64_t offset) const {
    return base + (static_cast<int64_t>(page) * page_size_tokens + offset) * row_elements;
  }
};

/// Fixed buffers; allocates nothing after Create. Calls on different rows may run together.
class KvMemory {
 public:
  /// Takes KvMemoryBytes(...) of zeroed memory, which the system backs when it is first touched.
  /// Errors: as KvMemoryBytes; kUnimplemented for a dtype other than F32; kResourceExhausted when
  /// the system has no such range.
  static Result<std::unique_ptr<KvMemory>> Create(std::vector<CacheGroup> groups,
                                                  std::vector<RecurrentBlock> blocks,
                                                  const KvMemoryOptions& options);

  ~KvMemory();
  KvMemory(const KvMemory&) = delete;
  KvMemory& operator=(const KvMemory&) = delete;

  int num_groups() const { return static_cast<int>(groups_.size()); }

  const std::vector<CacheGroup>& groups() const { return groups_; }

  const KvMemoryOptions& options() const { return options_; }

  uint64_t num_bytes() const { return num_bytes_; }

  /// The rows of the `index`-th layer of a group.
  KvLayerView Layer(int group, int index) const;

  /// Block number `block` of a sequence's slot: [num_elements] of its dtype.
  std::span<std::byte> State(int block, int32_t slot) const;

  /// Zeroes all recurrent blocks of a slot: the start of a sequence.
  void ClearState(int32_t slot);

 private:
  KvMemory() = default;

  std::vector<CacheGroup> groups_;
  std::vector<RecurrentBlock> blocks_;
  KvMemoryOptions options_;
  std::byte* memory_ = nullptr;  // one mapping
  uint64_t num_bytes_ = 0;
  std::vector<std::vector<uint64_t>> layer_offsets_;  // [groups][layers], bytes
  std::vector<uint64_t> block_offsets_;               // [blocks], bytes
};

}  // namespace ft
