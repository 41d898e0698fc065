#include "core/kv/page_pool.h"

#include <cstddef>

#include "core/base/check.h"

namespace ft {

PagePool::PagePool(int64_t num_pages) {
  FT_CHECK(num_pages >= 0);
  is_taken_.resize(static_cast<size_t>(num_pages));
  free_.reserve(static_cast<size_t>(num_pages));
  for (int64_t page = num_pages - 1; page >= 0; --page) {
    free_.push_back(static_cast<PageId>(page));
  }
}

bool PagePool::Take(int64_t count, std::vector<PageId>* pages) {
  FT_CHECK(count >= 0);
  if (count > num_free()) {
    return false;
  }
  for (int64_t i = 0; i < count; ++i) {
    const PageId page = free_.back();
    free_.pop_back();
    is_taken_[static_cast<size_t>(page)] = true;
    pages->push_back(page);
  }
  return true;
}

void PagePool::GiveBack(PageId page) {
  FT_CHECK(page >= 0 && page < num_pages() && is_taken_[static_cast<size_t>(page)]);
  is_taken_[static_cast<size_t>(page)] = false;
  free_.push_back(page);
}

}  // namespace ft
