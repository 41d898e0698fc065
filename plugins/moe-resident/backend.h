// The instance of `resident`: experts in place, one call of the kernels per layer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ft/plugin/moe_backend.h"
#include "ft/plugin/moe_sdk.h"

#include "core/expert/route_table.h"

namespace ft::moe_resident {

class Backend {
 public:
  static ft_code Plan(const ft_moe_model& model,
                      const ft_moe_budget& budget,
                      ft_moe_plan* out,
                      ft_error* error);
  static ft_code Create(const ft_host* host,
                        const ft_moe_model& model,
                        const ft_moe_budget& budget,
                        std::unique_ptr<Backend>* out,
                        ft_error* error);

  ft_code Forward(const ft_moe_io& io, ft_error* error);
  void Counters(ft_moe_counters* out) const;

 private:
  explicit Backend(const ft_moe_model& model);

  ft_code CopyAllToDevice(bool has_banks, ft_error* error);
  ft_code CopyLayer(uint32_t layer_id,
                    const plugin::LayerTable::Entry& layer,
                    bool has_banks,
                    const plugin::Memory& staging,
                    ft_stream* stream,
                    ft_error* error);
  const void* WeightsOf(uint32_t layer_id,
                        const plugin::LayerTable::Entry& layer,
                        int32_t expert) const;
  ft_code WaitForLastForward(ft_error* error);

  const ft_moe_model& model_;
  const plugin::LayerTable layers_;
  plugin::Services services_;
  bool is_on_device_ = false;
  std::vector<plugin::Memory> experts_of_kind_;  // [n_kinds], on the device: layer by layer
  plugin::Memory route_results_;                 // [routes, hidden_dim] f32
  RouteTable routes_;
  std::vector<ft_expert_job> jobs_;
  plugin::EventOwner begin_;
  plugin::EventOwner end_;
  bool has_run_ = false;
  std::atomic<uint64_t> num_hits_{0};
  std::atomic<uint64_t> num_routes_{0};
  std::atomic<uint64_t> num_forwards_{0};
  std::atomic<uint64_t> bytes_fetched_{0};
  std::atomic<uint64_t> compute_ns_{0};
};

}  // namespace ft::moe_resident
