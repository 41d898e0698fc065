#include "core/expert/route_table.h"

#include <algorithm>

#include "core/base/check.h"

namespace ft {

uint64_t RouteTable::Bytes(int64_t max_routes, int32_t max_experts) {
  return static_cast<uint64_t>(max_routes) * (2 * sizeof(int32_t) + sizeof(float)) +
         static_cast<uint64_t>(max_experts) * (sizeof(int32_t) + 2 * sizeof(int64_t)) +
         sizeof(int64_t);
}

RouteTable::RouteTable(int64_t max_routes, int32_t max_experts)
    : max_routes_(max_routes), max_experts_(max_experts) {
  FT_CHECK(max_routes >= 0 && max_experts >= 0);
  experts_.resize(static_cast<size_t>(max_experts));
  begin_.resize(static_cast<size_t>(max_experts) + 1);
  fill_.resize(static_cast<size_t>(max_experts));
  tokens_.resize(static_cast<size_t>(max_routes));
  routes_.resize(static_cast<size_t>(max_routes));
  weights_.resize(static_cast<size_t>(max_routes));
}

bool RouteTable::Build(const int32_t* ids,
                       const float* weights,
                       int64_t num_tokens,
                       int32_t top_k,
                       int32_t num_experts) {
  const int64_t num_slots = num_tokens * top_k;
  FT_CHECK(num_slots <= max_routes_ && num_experts <= max_experts_);
  num_used_ = 0;
  num_routes_ = 0;
  std::fill_n(begin_.begin(), num_experts + 1, 0);
  for (int64_t route = 0; route < num_slots; ++route) {  // counts, one place to the right
    if (ids[route] >= num_experts) {
      bad_id_ = ids[route];
      std::fill_n(begin_.begin(), num_experts + 1, 0);
      return false;
    }
    if (ids[route] >= 0) {
      ++begin_[static_cast<size_t>(ids[route]) + 1];
    }
  }
  for (int32_t expert = 0; expert < num_experts; ++expert) {
    const auto at = static_cast<size_t>(expert);
    if (begin_[at + 1] != 0) {
      experts_[static_cast<size_t>(num_used_++)] = expert;
    }
    fill_[at] = begin_[at];
    begin_[at + 1] += begin_[at];
  }
  num_routes_ = begin_[static_cast<size_t>(num_experts)];
  for (int64_t route = 0; route < num_slots; ++route) {
    if (ids[route] < 0) {
      continue;
    }
    const auto at = static_cast<size_t>(fill_[static_cast<size_t>(ids[route])]++);
    tokens_[at] = static_cast<int32_t>(route / top_k);
    routes_[at] = static_cast<int32_t>(route);
    weights_[at] = weights[route];
  }
  return true;
}

RouteTable::Group RouteTable::Of(int32_t expert) const {
  const auto at = static_cast<size_t>(expert);
  const auto begin = static_cast<size_t>(begin_[at]);
  const size_t count = static_cast<size_t>(begin_[at + 1]) - begin;
  return {expert,
          {tokens_.data() + begin, count},
          {routes_.data() + begin, count},
          {weights_.data() + begin, count}};
}

}  // namespace ft
