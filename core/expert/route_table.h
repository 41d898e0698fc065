// RouteTable: the routes of a step grouped by expert, as kernels want them. Integers only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ft {

/// Groups (token, k-th expert) pairs by expert: stable, so an expert's tokens ascend. Memory is
/// taken once, for the largest step. One thread.
class RouteTable {
 public:
  /// Routes of one expert; the spans are valid until the next Build.
  struct Group {
    int32_t expert = 0;
    std::span<const int32_t> tokens;
    std::span<const int32_t> routes;  ///< token * top_k + k
    std::span<const float> weights;
  };

  /// Bytes that a table of this size takes, for plans.
  static uint64_t Bytes(int64_t max_routes, int32_t max_experts);

  RouteTable(int64_t max_routes, int32_t max_experts);

  /// `ids`, `weights`  [num_tokens, top_k]; an id < 0 is skipped.
  /// Returns false when an id is >= num_experts (`bad_id` says which); the table is then empty.
  /// Requires: num_tokens * top_k <= max_routes, num_experts <= max_experts.
  bool Build(const int32_t* ids,
             const float* weights,
             int64_t num_tokens,
             int32_t top_k,
             int32_t num_experts);

  /// The id that made Build fail.
  int32_t bad_id() const { return bad_id_; }

  /// Experts that have routes, ascending.
  std::span<const int32_t> experts() const {
    return {experts_.data(), static_cast<size_t>(num_used_)};
  }

  /// Routes that were not skipped.
  int64_t num_routes() const { return num_routes_; }

  /// Of one expert; empty spans when it has none. Requires: 0 <= expert < num_experts.
  Group Of(int32_t expert) const;

 private:
  int64_t max_routes_;
  int32_t max_experts_;
  int32_t num_used_ = 0;
  int64_t num_routes_ = 0;
  int32_t bad_id_ = -1;
  std::vector<int32_t> experts_;  // [max_experts] the first num_used_ are valid
  std::vector<int64_t> begin_;    // [max_experts + 1]
  std::vector<int64_t> fill_;     // [max_experts]
  std::vector<int32_t> tokens_;   // [max_routes]
  std::vector<int32_t> routes_;   // [max_routes]
  std::vector<float> weights_;    // [max_routes]
};

}  // namespace ft
