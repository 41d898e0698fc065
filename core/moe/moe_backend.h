// MoeBackend: one instance of a plugin that decides where experts live and who computes them, for
// all MoE layers of a model on one device. The registry holds what plugins offered. Nothing here
// knows a backend by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ft/plugin/moe_backend.h"

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/device/device.h"
#include "core/moe/expert_bank.h"
#include "core/moe/expert_source.h"

namespace ft {

/// One component of kind "moe_backend" of a loaded plugin. Plugins are never unloaded.
struct MoeBackendComponent {
  std::string name;    ///< "offload"
  std::string plugin;  ///< its manifest's short name, for messages and `--plugin`
  const ft_moe_backend* table = nullptr;
  void* state = nullptr;

  uint64_t caps() const { return table->caps; }  ///< FT_MOE_CAP_*
};

/// Filled at start by whoever loads plugins, then read only.
class MoeBackendRegistry {
 public:
  /// Errors: kInvalidArgument when the name is taken (names both plugins); kPluginFault when the
  /// table is too short or lacks a function.
  Status Add(MoeBackendComponent component);

  /// Null when absent. The pointer lives as long as the registry.
  const MoeBackendComponent* Find(std::string_view name) const;

  /// Errors: kNotFound that lists the names there are.
  Result<const MoeBackendComponent*> Get(std::string_view name) const;

  const std::vector<std::unique_ptr<MoeBackendComponent>>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<MoeBackendComponent>> all_;
};

/// What an instance is made for.
struct MoeBackendOptions {
  Device* device = nullptr;
  ExpertSource* source = nullptr;
  const ExpertBanks* banks = nullptr;  ///< null: experts come from the source
  ThreadPool* pool = nullptr;
  std::vector<uint64_t> bytes_by_kind;  ///< for expert slots; see cache_budget.h
  int64_t max_tokens = 0;               ///< most tokens of one Forward
  /// Forward cuts its tokens so that the buffer of all routes' results stays within this.
  uint64_t route_buffer_bytes = uint64_t{64} << 20;
  /// Keys under the plugin's own name, for ft.config.
  std::vector<std::pair<std::string, std::string>> config;
};

/// An upper bound that is enforced: memory beyond it is refused to the plugin.
struct MoeBackendPlan {
  uint64_t slot_bytes = 0;     ///< expert slots on the device (on `cpu`: in RAM)
  uint64_t staging_bytes = 0;  ///< packed experts in host memory on their way
  uint64_t host_bytes = 0;     ///< the plugin's tables and scratch
  uint64_t core_bytes = 0;     ///< the core's: kernels' scratch and the source's staging
  int64_t num_slots = 0;       ///< 0: no slots, experts are used in place
  bool needs_banks = false;    ///< wants ExpertBanks loaded
  int64_t chunk_tokens = 0;    ///< tokens of one call of the plugin
};

/// See ft_moe_counters.
struct MoeBackendCounters {
  uint64_t hits = 0, misses = 0, fetches = 0, evictions = 0, cpu_experts = 0;
  uint64_t routes = 0, waves = 0, bytes_fetched = 0, bytes_resident = 0;
  uint64_t fetch_ns = 0, compute_ns = 0;
  /// By name, for metrics: ("expert_hits", …).
  std::vector<std::pair<std::string, double>> Named() const;
};

/// One layer's routed experts for a step.
struct MoeForward {
  int layer_id = 0;
  int64_t num_tokens = 0;
  const float* x = nullptr;               ///< [num_tokens, hidden_dim]
  int64_t x_stride = 0;                   ///< floats between tokens
  const int32_t* expert_ids = nullptr;    ///< [num_tokens, top_k]; -1 skips the route
  const float* expert_weights = nullptr;  ///< [num_tokens, top_k]
  float* out = nullptr;                   ///< [num_tokens, hidden_dim], overwritten
  int64_t out_stride = 0;
  uint32_t compute_mode = FT_COMPUTE_EXACT;
  bool is_deterministic = false;
};

/// Create, Forward and destruction on one owner thread; the rest on any.
class MoeBackend {
 public:
  /// What an instance would take. Pure; `options.banks` may still be null where the plan then says
  /// that it needs them; `has_banks` says whether they will be there.
  /// Errors: those of the plugin, with its name in front.
  static Result<MoeBackendPlan> Plan(const MoeBackendComponent& component,
                                     const MoeBackendOptions& options,
                                     bool has_banks);

  /// `component` and all that options point to must outlive it.
  /// Errors: kFailedPrecondition when the plan needs banks and there are none; those of the plugin.
  static Result<std::unique_ptr<MoeBackend>> Create(const MoeBackendComponent& component,
                                                    const MoeBackendOptions& options);
  ~MoeBackend();
  MoeBackend(const MoeBackend&) = delete;
  MoeBackend& operator=(const MoeBackend&) = delete;

  /// Computes and waits: `out` is there on return. A token's experts are summed in top-k order, so
  /// its result depends on nothing else in the step. Allocates nothing.
  /// Errors: kInvalidArgument for an id beyond the layer's experts; those of the plugin, the source
  /// and the device. `out` is then undefined and the instance goes on working.
  Status Forward(const MoeForward& forward);

  MoeBackendCounters counters() const;

  const MoeBackendPlan& plan() const { return plan_; }

  const std::string& name() const { return component_->name; }

  /// Bytes that the plugin holds now, for tests of the plan: slots, and host memory.
  uint64_t slot_bytes_held() const;
  uint64_t host_bytes_held() const;

 private:
  struct State;
  MoeBackend(const MoeBackendComponent* component, const MoeBackendPlan& plan);
  Status Start(const MoeBackendOptions& options);

  const MoeBackendComponent* component_;
  MoeBackendPlan plan_;
  std::unique_ptr<State> state_;
};

}  // namespace ft
