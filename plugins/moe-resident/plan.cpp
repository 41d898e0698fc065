#include "plugins/moe-resident/plan.h"

#include "ft/plugin/moe_sdk.h"

#include "core/expert/route_table.h"

namespace ft::moe_resident {

ft_code MakePlan(const ft_moe_model& model,
                 const ft_moe_budget& budget,
                 ft_moe_plan* out,
                 ft_error* error) {
  if (budget.device_kind != FT_DEVICE_CPU && budget.device_kind != FT_DEVICE_SIM) {
    return plugin::Fail(error, FT_E_UNSUPPORTED, "works on cpu and sim, not on device kind %u",
                        budget.device_kind);
  }
  const plugin::MoeExtents extents(model);
  uint64_t num_experts = 0;
  uint64_t expert_bytes = 0;
  for (uint32_t i = 0; i < model.n_layers; ++i) {
    const uint32_t kind = model.layers[i].kind;
    num_experts += model.kinds[kind]->n_experts;
    expert_bytes += uint64_t{model.kinds[kind]->n_experts} * model.expert_bytes[kind];
  }
  const bool is_on_device = budget.device_kind != FT_DEVICE_CPU;
  out->slot_bytes = is_on_device ? expert_bytes : 0;
  out->n_slots = is_on_device ? num_experts : 0;
  out->staging_bytes =
      is_on_device && budget.has_banks == 0 ? kStagingExperts * extents.max_expert_bytes : 0;
  out->needs_banks = is_on_device ? 0 : 1;
  out->host_bytes = extents.route_floats * sizeof(float) +
                    RouteTable::Bytes(extents.max_routes, extents.max_experts) +
                    static_cast<uint64_t>(extents.max_experts) * sizeof(ft_expert_job);
  return FT_OK;
}

}  // namespace ft::moe_resident
