#include "core/text/tokenizer/merge_queue.h"

#include <algorithm>
#include <functional>

namespace ft::text {
namespace {

// A heap of so many merges is still in the cache.
constexpr size_t kShortPiece = 4096;

bool IsLater(const WaitingMerge& a, const WaitingMerge& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

}  // namespace

void MergeQueue::Reset(size_t num_symbols) {
  has_buckets_ = num_symbols > kShortPiece;
  heap_.clear();
  buckets_.clear();
}

void MergeQueue::Push(const WaitingMerge& merge) {
  if (!has_buckets_) {
    heap_.push_back(merge);
    std::push_heap(heap_.begin(), heap_.end(), IsLater);
    return;
  }
  Bucket& bucket = buckets_[merge.rank];
  bucket.new_id = merge.new_id;
  if (bucket.next == bucket.in_order.size()) {
    bucket.in_order.clear();
    bucket.next = 0;
  }
  if (bucket.in_order.empty() || merge.position >= bucket.in_order.back()) {
    bucket.in_order.push_back(merge.position);
  } else {
    bucket.others.push_back(merge.position);
    std::push_heap(bucket.others.begin(), bucket.others.end(), std::greater<>());
  }
}

// Requires a bucket that is not empty.
int32_t MergeQueue::TakeLowest(Bucket* bucket) {
  const bool has_in_order = bucket->next < bucket->in_order.size();
  if (has_in_order &&
      (bucket->others.empty() || bucket->in_order[bucket->next] <= bucket->others.front())) {
    return bucket->in_order[bucket->next++];
  }
  std::pop_heap(bucket->others.begin(), bucket->others.end(), std::greater<>());
  const int32_t position = bucket->others.back();
  bucket->others.pop_back();
  return position;
}

bool MergeQueue::Pop(WaitingMerge* merge) {
  if (!has_buckets_) {
    if (heap_.empty()) {
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), IsLater);
    *merge = heap_.back();
    heap_.pop_back();
    return true;
  }
  if (buckets_.empty()) {
    return false;
  }
  const auto first = buckets_.begin();
  Bucket& bucket = first->second;
  *merge = {first->first, TakeLowest(&bucket), bucket.new_id};
  if (bucket.next == bucket.in_order.size() && bucket.others.empty()) {
    buckets_.erase(first);
  }
  return true;
}

}  // namespace ft::text
