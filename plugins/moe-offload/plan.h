// What `offload` takes, before it takes it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "ft/plugin/moe_backend.h"

namespace ft::moe_offload {

/// Experts that are read at once on their way to a device; there are two such groups.
inline constexpr uint32_t kStagingGroup = 4;

/// Slots of each layer kind: what its budget holds, at most all its experts.
/// Errors: FT_E_NO_MEMORY, with the numbers, when a budget does not hold one expert.
ft_code SlotsByKind(const ft_moe_model& model,
                    const ft_moe_budget& budget,
                    std::vector<int32_t>* slots,
                    ft_error* error);

/// Experts of a layer kind over all its layers.
uint64_t NumExpertsOfKind(const ft_moe_model& model, uint32_t kind);

/// Fills `out`. Errors: as SlotsByKind; FT_E_UNSUPPORTED for devices other than cpu and sim.
ft_code MakePlan(const ft_moe_model& model,
                 const ft_moe_budget& budget,
                 ft_moe_plan* out,
                 ft_error* error);

}  // namespace ft::moe_offload
