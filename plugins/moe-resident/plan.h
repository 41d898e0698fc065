// What `resident` takes, before it takes it. Pure.
#pragma once

#include <cstdint>

#include "ft/plugin/moe_backend.h"

namespace ft::moe_resident {

/// Experts that are read at once on their way to a device, where the host has no banks.
inline constexpr uint32_t kStagingExperts = 8;

/// Fills `out`. FT_E_UNSUPPORTED for devices other than cpu and sim.
ft_code MakePlan(const ft_moe_model& model,
                 const ft_moe_budget& budget,
                 ft_moe_plan* out,
                 ft_error* error);

}  // namespace ft::moe_resident
