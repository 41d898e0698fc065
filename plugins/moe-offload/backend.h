// The instance of `offload`: slots, their caches, and the waves of a step.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ft/plugin/moe_backend.h"
#include "ft/plugin/moe_sdk.h"

#include "core/expert/expert_cache.h"
#include "core/expert/route_table.h"
#include "plugins/moe-offload/fetcher.h"

namespace ft::moe_offload {

/// A step runs as waves: the experts of a wave all have slots at once. Kernels of wave w and
/// fetches of wave w+1 may run together where the device has a copy engine: a fetch waits for the
/// last wave that used a slot it overwrites, and a wave's kernels wait for its fetches.
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
  /// The slots of one layer kind.
  struct Pool {
    ExpertCache cache;
    uint64_t expert_bytes;
    plugin::Memory memory;
    std::vector<uint64_t> wave_of_slot;  // the last wave whose kernels read it
  };

  /// One layer's step, while it runs.
  struct Step {
    const ft_moe_io* io = nullptr;
    const ft_expert_kind* kind = nullptr;
    Pool* pool = nullptr;
    int32_t first_key = 0;    // of the layer: key - first_key is the expert
    uint32_t num_jobs = 0;    // made so far
    uint32_t num_issued = 0;  // given to the kernels so far
  };

  explicit Backend(const ft_moe_model& model);

  ft_code Start(const ft_host* host, const ft_moe_budget& budget, ft_error* error);
  ft_code RunWaves(Step* step, ft_error* error);
  ft_code RunWave(Step* step, std::span<const Placement> placed, ft_error* error);
  ft_code FetchMisses(Step* step, std::span<const Placement> misses, ft_error* error);
  ft_code IssueJobs(Step* step, ft_error* error);
  void AddJob(Step* step, const Placement& placement);
  ft_code WaitForLastForward(ft_error* error);

  const ft_moe_model& model_;
  const plugin::LayerTable layers_;
  plugin::Services services_;
  bool is_on_device_ = false;
  std::vector<std::unique_ptr<Pool>> pools_;  // [n_kinds]
  plugin::Memory route_results_;              // [routes, hidden_dim] f32
  RouteTable routes_;
  std::vector<int32_t> pending_;       // [max_experts] keys
  std::vector<Placement> placed_;      // [max_experts]
  std::vector<ft_expert_read> reads_;  // [max_experts]
  std::vector<ft_expert_job> jobs_;    // [max_experts]
  // Destroyed before the memory above: streams finish their work first.
  std::array<plugin::EventOwner, 2> computed_;  // by wave, in turn
  plugin::EventOwner begin_;
  plugin::EventOwner end_;
  Fetcher fetcher_;
  uint64_t wave_ = 0;             // of all forwards
  uint64_t first_wave_ = 0;       // of this forward
  uint64_t fetch_ns_before_ = 0;  // the fetcher's count when this forward began
  bool has_run_ = false;

  std::atomic<uint64_t> num_hits_{0};
  std::atomic<uint64_t> num_misses_{0};
  std::atomic<uint64_t> num_fetches_{0};
  std::atomic<uint64_t> num_evictions_{0};
  std::atomic<uint64_t> num_routes_{0};
  std::atomic<uint64_t> num_waves_{0};
  std::atomic<uint64_t> bytes_fetched_{0};
  std::atomic<uint64_t> bytes_resident_{0};
  std::atomic<uint64_t> compute_ns_{0};
};

}  // namespace ft::moe_offload
