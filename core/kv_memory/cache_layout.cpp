// Sizes of the cache. Every layer's and block's buffer is rounded up to kAlignBytes.
#include "core/kv_memory/cache_layout.h"

#include "core/base/errors.h"
#include "core/kv_memory/cache_bytes.h"

namespace ft {

uint64_t PageBytes(const CacheGroup& group, int64_t page_size_tokens, DType dtype) {
  uint64_t elements = 0;
  for (const int64_t per_token : group.elements_per_token) {
    elements += static_cast<uint64_t>(per_token);
  }
  return elements * static_cast<uint64_t>(page_size_tokens) * DTypeBytes(dtype);
}

uint64_t StateSlotBytes(const std::vector<RecurrentBlock>& blocks) {
  uint64_t bytes = 0;
  for (const RecurrentBlock& block : blocks) {
    bytes += static_cast<uint64_t>(block.num_elements) * DTypeBytes(block.dtype);
  }
  return bytes;
}

Result<uint64_t> KvMemoryBytes(const std::vector<CacheGroup>& groups,
                               const std::vector<RecurrentBlock>& blocks,
                               const KvMemoryOptions& options) {
  if (options.page_size_tokens <= 0 || options.page_size_tokens > (1 << 20)) {
    return InvalidArgument("page size: want 1..1048576 tokens, got {}", options.page_size_tokens);
  }
  if (options.num_pages.size() != groups.size()) {
    return InvalidArgument("cache: {} page counts for {} groups", options.num_pages.size(),
                           groups.size());
  }
  uint64_t total = 0;
  bool overflows = false;
  const auto add = [&](uint64_t count, uint64_t bytes) {
    uint64_t product = 0;
    overflows |= __builtin_mul_overflow(count, bytes, &product) ||
                 product > internal::kMaxCacheBytes ||
                 __builtin_add_overflow(total, internal::AlignUp(product), &total);
  };
  for (size_t group = 0; group < groups.size(); ++group) {
    if (options.num_pages[group] <= 0) {
      return InvalidArgument("cache group {}: want at least one page, got {}", groups[group].name,
                             options.num_pages[group]);
    }
    for (const int64_t per_token : groups[group].elements_per_token) {
      const uint64_t page_bytes = static_cast<uint64_t>(per_token) *
                                  static_cast<uint64_t>(options.page_size_tokens) *
                                  DTypeBytes(options.dtype);
      add(static_cast<uint64_t>(options.num_pages[group]), page_bytes);
    }
  }
  for (const RecurrentBlock& block : blocks) {
    add(static_cast<uint64_t>(options.num_state_slots),
        static_cast<uint64_t>(block.num_elements) * DTypeBytes(block.dtype));
  }
  if (overflows || total > internal::kMaxCacheBytes) {
    return ResourceExhausted("the cache would take more than 64 TiB; ask for fewer pages");
  }
  return total;
}

}  // namespace ft
