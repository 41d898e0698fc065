// Free list of KV cache pages. Accounting only: it hands out page ids and owns no memory.
#pragma once

#include <cstdint>
#include <vector>

namespace ft {

/// Page ids of one cache group, 0-based: an index into the group's buffers.
using PageId = int32_t;

/// Fixed set of page ids with O(1) take and give back. Allocates nothing after construction.
class PagePool {
 public:
  /// `num_pages` >= 0.
  explicit PagePool(int64_t num_pages);

  /// Appends `count` free pages to `*pages`, lowest ids first where possible. False, with `*pages`
  /// unchanged, when fewer are free.
  bool Take(int64_t count, std::vector<PageId>* pages);

  /// Returns a page taken before. Giving one back twice is a check failure.
  void GiveBack(PageId page);

  int64_t num_pages() const { return static_cast<int64_t>(is_taken_.size()); }

  int64_t num_free() const { return static_cast<int64_t>(free_.size()); }

 private:
  std::vector<PageId> free_;    // a stack
  std::vector<bool> is_taken_;  // [num_pages]
};

}  // namespace ft
