// What a model keeps per sequence: groups of paged layers and fixed recurrent blocks, and how many
// bytes that takes. Pure arithmetic: the memory plan and the buffers use the same functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/dtype.h"

namespace ft {

/// Layers whose cache pages are allocated together: one page table per sequence and group.
struct CacheGroup {
  std::string name;            ///< "full", "sliding"
  std::vector<int> layer_ids;  ///< in layer order
  int64_t window_tokens = 0;   ///< a query sees its own and window-1 earlier tokens; 0 = all
  /// Elements that one token keeps in one layer: [k heads*dim | v heads*dim | index keys …].
  std::vector<int64_t> elements_per_token;  ///< [layer_ids.size()]
};

/// A fixed block of recurrent state that a layer keeps per sequence.
struct RecurrentBlock {
  int layer_id = 0;
  std::string name;  ///< "conv", "state"
  int64_t num_elements = 0;
  DType dtype = DType::kF32;
};

/// Extents of the cache.
struct KvMemoryOptions {
  int64_t page_size_tokens = 16;   ///< > 0
  std::vector<int64_t> num_pages;  ///< [groups], each > 0
  int64_t num_state_slots = 0;     ///< sequences with recurrent state at once
  DType dtype = DType::kF32;       ///< of paged elements; only kF32 for now
};

/// Bytes of one page of a group, over all its layers.
uint64_t PageBytes(const CacheGroup& group, int64_t page_size_tokens, DType dtype);

/// Bytes of the recurrent blocks of one sequence.
uint64_t StateSlotBytes(const std::vector<RecurrentBlock>& blocks);

/// Bytes that KvMemory::Create takes for these options.
/// Errors: kInvalidArgument for options out of range, kResourceExhausted when the sum overflows.
Result<uint64_t> KvMemoryBytes(const std::vector<CacheGroup>& groups,
                               const std::vector<RecurrentBlock>& blocks,
                               const KvMemoryOptions& options);

}  // namespace ft
