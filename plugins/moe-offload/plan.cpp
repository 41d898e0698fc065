#include "plugins/moe-offload/plan.h"

#include <algorithm>

#include "ft/plugin/moe_sdk.h"

#include "core/expert/expert_cache.h"
#include "core/expert/route_table.h"

namespace ft::moe_offload {

uint64_t NumExpertsOfKind(const ft_moe_model& model, uint32_t kind) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < model.n_layers; ++i) {
    count += model.layers[i].kind == kind ? model.kinds[kind]->n_experts : 0;
  }
  return count;
}

ft_code SlotsByKind(const ft_moe_model& model,
                    const ft_moe_budget& budget,
                    std::vector<int32_t>* slots,
                    ft_error* error) {
  slots->clear();
  for (uint32_t kind = 0; kind < model.n_kinds; ++kind) {
    const uint64_t held = budget.bytes_by_kind[kind] / model.expert_bytes[kind];
    const uint64_t all = NumExpertsOfKind(model, kind);
    if (held == 0 || all == 0 || all > INT32_MAX) {
      return plugin::Fail(error, FT_E_NO_MEMORY,
                          "%llu bytes for experts of kind %u hold none: one takes %llu (there are "
                          "%llu)",
                          static_cast<unsigned long long>(budget.bytes_by_kind[kind]), kind,
                          static_cast<unsigned long long>(model.expert_bytes[kind]),
                          static_cast<unsigned long long>(all));
    }
    slots->push_back(static_cast<int32_t>(std::min(held, all)));
  }
  return FT_OK;
}

ft_code MakePlan(const ft_moe_model& model,
                 const ft_moe_budget& budget,
                 ft_moe_plan* out,
                 ft_error* error) {
  if (budget.device_kind != FT_DEVICE_CPU && budget.device_kind != FT_DEVICE_SIM) {
    return plugin::Fail(error, FT_E_UNSUPPORTED, "works on cpu and sim, not on device kind %u",
                        budget.device_kind);
  }
  std::vector<int32_t> slots;
  FT_PLUGIN_RETURN_IF_FAILED(SlotsByKind(model, budget, &slots, error));
  const plugin::MoeExtents extents(model);
  const bool has_staging = budget.device_kind != FT_DEVICE_CPU && budget.has_banks == 0;
  out->slot_bytes = 0;
  out->n_slots = 0;
  out->needs_banks = 0;
  out->staging_bytes = has_staging ? 2 * kStagingGroup * extents.max_expert_bytes : 0;
  // One pending key, placement, read and job per expert of a layer.
  out->host_bytes =
      extents.route_floats * sizeof(float) +
      RouteTable::Bytes(extents.max_routes, extents.max_experts) +
      static_cast<uint64_t>(extents.max_experts) *
          (sizeof(int32_t) + sizeof(Placement) + sizeof(ft_expert_read) + sizeof(ft_expert_job));
  for (uint32_t kind = 0; kind < model.n_kinds; ++kind) {
    const auto count = static_cast<uint64_t>(slots[kind]);
    out->n_slots += count;
    out->slot_bytes += count * model.expert_bytes[kind];
    out->host_bytes += ExpertCache::Bytes(NumExpertsOfKind(model, kind), count) +
                       count * sizeof(uint64_t);  // the wave that used a slot last
  }
  return FT_OK;
}

}  // namespace ft::moe_offload
