// How `--moe-cache-size | -rate | -mem | -auto` becomes bytes of expert slots per layer kind. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/status.h"

namespace ft {

/// At most one is set; none means auto: all experts, or as many as `auto_bytes` holds.
struct ExpertCacheRequest {
  std::optional<int64_t> num_slots;   ///< --moe-cache-size: over all layers
  std::optional<double> rate;         ///< --moe-cache-rate: of layers x experts, (0, 1]
  std::optional<uint64_t> mem_bytes;  ///< --moe-cache-mem
};

/// One kind of expert in one model.
struct ExpertKindCount {
  int64_t num_experts = 0;    ///< over all its layers
  uint64_t expert_bytes = 0;  ///< of one slot
};

/// Slots and their bytes, [num kinds].
struct ExpertCacheBudget {
  std::vector<int64_t> slots_by_kind;
  std::vector<uint64_t> bytes_by_kind;
  int64_t num_slots = 0;
  uint64_t num_bytes = 0;
};

/// Shares are in proportion to each kind's experts (bytes: to its experts' bytes), at least one
/// slot each and never more than there are experts; what rounding leaves goes to the first kinds
/// that still lack slots.
/// Errors: kInvalidArgument: two are set, a rate outside (0, 1], no slots; kResourceExhausted with
/// the numbers when not even one slot of each kind fits.
Result<ExpertCacheBudget> ResolveExpertCache(const ExpertCacheRequest& request,
                                             std::span<const ExpertKindCount> kinds,
                                             uint64_t auto_bytes);

}  // namespace ft
