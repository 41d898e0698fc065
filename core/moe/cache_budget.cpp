#include "core/moe/cache_budget.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/base/file.h"

namespace ft {
namespace {

int64_t CountAll(std::span<const ExpertKindCount> kinds) {
  int64_t total = 0;
  for (const ExpertKindCount& kind : kinds) {
    total += kind.num_experts;
  }
  return total;
}

uint64_t BytesOf(std::span<const ExpertKindCount> kinds, const std::vector<int64_t>& slots) {
  uint64_t bytes = 0;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    bytes += static_cast<uint64_t>(slots[kind]) * kinds[kind].expert_bytes;
  }
  return bytes;
}

int64_t Share(long double part, int64_t most) {
  return std::clamp(static_cast<int64_t>(std::min(part, static_cast<long double>(most))),
                    int64_t{1}, most);
}

// Gives and takes single slots until `fits` says that no further one goes in: rounding, and the
// one slot that every kind gets, leave a few too many or too few.
template <typename Fits>
void Adjust(std::span<const ExpertKindCount> kinds, std::vector<int64_t>* slots, const Fits& fits) {
  while (!fits(*slots)) {
    const auto most = std::max_element(slots->begin(), slots->end());
    if (*most <= 1) {
      return;  // the caller has checked that one of each fits
    }
    --*most;
  }
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      if ((*slots)[kind] < kinds[kind].num_experts) {
        ++(*slots)[kind];
        if (fits(*slots)) {
          has_grown = true;
        } else {
          --(*slots)[kind];
        }
      }
    }
  }
}

std::vector<int64_t> BySlots(std::span<const ExpertKindCount> kinds, int64_t num_slots) {
  const int64_t all = CountAll(kinds);
  std::vector<int64_t> slots;
  for (const ExpertKindCount& kind : kinds) {
    slots.push_back(
        Share(static_cast<long double>(num_slots) * static_cast<long double>(kind.num_experts) /
                  static_cast<long double>(all),
              kind.num_experts));
  }
  Adjust(kinds, &slots, [&](const std::vector<int64_t>& tried) {
    int64_t sum = 0;
    for (const int64_t count : tried) {
      sum += count;
    }
    return sum <= num_slots;
  });
  return slots;
}

Result<std::vector<int64_t>> ByBytes(std::span<const ExpertKindCount> kinds, uint64_t bytes) {
  const std::vector<int64_t> one_each(kinds.size(), 1);
  const uint64_t least = BytesOf(kinds, one_each);
  std::vector<int64_t> everything;
  for (const ExpertKindCount& kind : kinds) {
    everything.push_back(kind.num_experts);
  }
  const uint64_t most = BytesOf(kinds, everything);
  if (bytes < least) {
    return ResourceExhausted(
        "the expert cache has {}, but one slot of each kind of expert takes {} (all experts: {}); "
        "raise --moe-cache-mem or free memory",
        HumanBytes(bytes), HumanBytes(least), HumanBytes(most));
  }
  if (bytes >= most) {
    return everything;
  }
  const long double part = static_cast<long double>(bytes) / static_cast<long double>(most);
  std::vector<int64_t> slots;
  for (const ExpertKindCount& kind : kinds) {
    slots.push_back(Share(part * static_cast<long double>(kind.num_experts), kind.num_experts));
  }
  Adjust(kinds, &slots,
         [&](const std::vector<int64_t>& tried) { return BytesOf(kinds, tried) <= bytes; });
  return slots;
}

Result<std::vector<int64_t>> Slots(const ExpertCacheRequest& request,
                                   std::span<const ExpertKindCount> kinds,
                                   uint64_t auto_bytes) {
  const auto num_kinds = static_cast<int64_t>(kinds.size());
  if (request.num_slots) {
    if (*request.num_slots < std::max<int64_t>(num_kinds, 1)) {
      return InvalidArgument(
          "--moe-cache-size {}: want at least {}, one slot for each kind of expert",
          *request.num_slots, std::max<int64_t>(num_kinds, 1));
    }
    return BySlots(kinds, *request.num_slots);
  }
  if (request.rate) {
    if (!(*request.rate > 0 && *request.rate <= 1)) {
      return InvalidArgument("--moe-cache-rate {}: want a share of all experts in (0, 1]",
                             *request.rate);
    }
    const double wanted = *request.rate * static_cast<double>(CountAll(kinds));
    return BySlots(kinds, std::max(num_kinds, static_cast<int64_t>(std::floor(wanted + 1e-9))));
  }
  return ByBytes(kinds, request.mem_bytes.value_or(auto_bytes));
}

}  // namespace

Result<ExpertCacheBudget> ResolveExpertCache(const ExpertCacheRequest& request,
                                             std::span<const ExpertKindCount> kinds,
                                             uint64_t auto_bytes) {
  const int num_set =
      (request.num_slots ? 1 : 0) + (request.rate ? 1 : 0) + (request.mem_bytes ? 1 : 0);
  if (num_set > 1) {
    return InvalidArgument(
        "--moe-cache-size, --moe-cache-rate and --moe-cache-mem say the same thing: give one");
  }
  for (const ExpertKindCount& kind : kinds) {
    if (kind.num_experts < 1) {
      return InvalidArgument("expert cache: a kind of expert with {} experts", kind.num_experts);
    }
  }
  FT_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Slots(request, kinds, auto_bytes));
  ExpertCacheBudget budget;
  budget.slots_by_kind = slots;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    budget.bytes_by_kind.push_back(static_cast<uint64_t>(slots[kind]) * kinds[kind].expert_bytes);
    budget.num_slots += slots[kind];
    budget.num_bytes += budget.bytes_by_kind.back();
  }
  return budget;
}

}  // namespace ft
