// MergeQueue: the merges of one piece that wait, lowest rank first, of equal ranks the leftmost.
// Used by BpeModel only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace ft::text {

/// A merge of the symbol at `position` with the one behind it.
struct WaitingMerge {
  uint32_t rank = 0;
  int32_t position = 0;
  int32_t new_id = 0;  ///< one for each rank
};

/// A binary heap for short pieces. Long ones, such as a mebibyte of spaces, have few ranks and come
/// nearly in order: they are kept by rank, as a list that is in order and a heap for the rest.
class MergeQueue {
 public:
  /// Empties the queue for a piece of `num_symbols`.
  void Reset(size_t num_symbols);

  void Push(const WaitingMerge& merge);

  /// Takes the first merge. False when there is none.
  bool Pop(WaitingMerge* merge);

 private:
  struct Bucket {
    int32_t new_id = 0;
    size_t next = 0;                ///< of `in_order`
    std::vector<int32_t> in_order;  ///< positions, ascending
    std::vector<int32_t> others;    ///< positions, a heap with the lowest on top
  };

  static int32_t TakeLowest(Bucket* bucket);

  bool has_buckets_ = false;
  std::vector<WaitingMerge> heap_;
  std::map<uint32_t, Bucket> buckets_;
};

}  // namespace ft::text
