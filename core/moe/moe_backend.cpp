#include "core/moe/moe_backend.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/moe/moe_host.h"
#include "core/quant/abi_status.h"

namespace ft {
namespace {

std::string Who(const MoeBackendComponent& component) {
  return fmt::format("MoE backend {} ({})", component.name, component.plugin);
}

// Tokens of one call: the results of all their routes, [tokens * top_k, hidden_dim] f32, stay
// within the limit. At least one.
int64_t ChunkTokens(const MoeModel& model, const MoeBackendOptions& options) {
  uint64_t bytes_per_token = 1;
  for (int index = 0; index < model.num_kinds(); ++index) {
    const ExpertKind& kind = model.kind(index).kind();
    bytes_per_token =
        std::max(bytes_per_token, static_cast<uint64_t>(kind.top_k) *
                                      static_cast<uint64_t>(kind.hidden_dim) * sizeof(float));
  }
  const uint64_t most = options.route_buffer_bytes / bytes_per_token;
  return std::clamp<int64_t>(static_cast<int64_t>(std::min<uint64_t>(most, INT32_MAX)), 1,
                             std::max<int64_t>(options.max_tokens, 1));
}

ft_moe_budget BudgetOf(const MoeBackendOptions& options, bool has_banks) {
  ft_moe_budget budget = {};
  budget.hdr = {sizeof(budget), FT_TAG_MOE_BUDGET, nullptr};
  budget.device_kind = static_cast<uint32_t>(options.device->kind());
  budget.has_banks = has_banks ? 1 : 0;
  budget.bytes_by_kind = options.bytes_by_kind.data();
  return budget;
}

}  // namespace

Status MoeBackendRegistry::Add(MoeBackendComponent component) {
  const ft_moe_backend* table = component.table;
  if (!FT_HAS(table, ft_moe_backend, destroy) || table->hdr.tag != FT_TAG_MOE_BACKEND ||
      table->plan == nullptr || table->create == nullptr || table->forward == nullptr ||
      table->counters == nullptr || table->destroy == nullptr || component.name.empty()) {
    return PluginFault("{}: its table is too short or lacks a function", Who(component));
  }
  if (const MoeBackendComponent* other = Find(component.name); other != nullptr) {
    return InvalidArgument("MoE backend {} is offered by {} and by {}", component.name,
                           other->plugin, component.plugin);
  }
  all_.push_back(std::make_unique<MoeBackendComponent>(std::move(component)));
  return Status();
}

const MoeBackendComponent* MoeBackendRegistry::Find(std::string_view name) const {
  for (const auto& component : all_) {
    if (component->name == name) {
      return component.get();
    }
  }
  return nullptr;
}

Result<const MoeBackendComponent*> MoeBackendRegistry::Get(std::string_view name) const {
  if (const MoeBackendComponent* component = Find(name); component != nullptr) {
    return component;
  }
  std::string names;
  for (const auto& component : all_) {
    names += (names.empty() ? "" : ", ") + component->name;
  }
  return NotFound("MoE backend {}: no loaded plugin offers it; there are: {}", name,
                  names.empty() ? "none" : names);
}

std::vector<std::pair<std::string, double>> MoeBackendCounters::Named() const {
  return {{"expert_hits", static_cast<double>(hits)},
          {"expert_misses", static_cast<double>(misses)},
          {"expert_fetches", static_cast<double>(fetches)},
          {"expert_evictions", static_cast<double>(evictions)},
          {"cpu_experts", static_cast<double>(cpu_experts)},
          {"expert_routes", static_cast<double>(routes)},
          {"expert_waves", static_cast<double>(waves)},
          {"bytes_fetched", static_cast<double>(bytes_fetched)},
          {"bytes_resident", static_cast<double>(bytes_resident)},
          {"fetch_seconds", static_cast<double>(fetch_ns) * 1e-9},
          {"compute_seconds", static_cast<double>(compute_ns) * 1e-9}};
}

struct MoeBackend::State {
  Device* device = nullptr;
  const MoeModel* model = nullptr;
  std::vector<uint64_t> bytes_by_kind;
  ft_moe_model abi_model = {};  // kept: the plugin holds pointers to these two
  ft_moe_budget abi_budget = {};
  std::unique_ptr<MoeHost> host;
  Stream* stream = nullptr;
  void* instance = nullptr;
};

Result<MoeBackendPlan> MoeBackend::Plan(const MoeBackendComponent& component,
                                        const MoeBackendOptions& options,
                                        bool has_banks) {
  const MoeModel& model = options.source->model();
  if (static_cast<int>(options.bytes_by_kind.size()) != model.num_kinds()) {
    return InvalidArgument("{}: {} budgets for {} kinds of expert", Who(component),
                           options.bytes_by_kind.size(), model.num_kinds());
  }
  MoeBackendPlan plan;
  plan.chunk_tokens = ChunkTokens(model, options);
  const ft_moe_model abi_model = model.Abi(plan.chunk_tokens);
  const ft_moe_budget abi_budget = BudgetOf(options, has_banks);
  ft_moe_plan abi_plan = {};
  abi_plan.hdr = {sizeof(abi_plan), FT_TAG_MOE_PLAN, nullptr};
  ft_error error = EmptyAbiError();
  const ft_code code =
      component.table->plan(component.state, &abi_model, &abi_budget, &abi_plan, &error);
  FT_RETURN_IF_ERROR(StatusOfAbi(code, error, Who(component)));
  FT_ASSIGN_OR_RETURN(const uint64_t scratch_bytes,
                      MoeHost::ScratchBytes(model, plan.chunk_tokens, options.pool->num_workers()));
  plan.slot_bytes = abi_plan.slot_bytes;
  plan.staging_bytes = abi_plan.staging_bytes;
  plan.host_bytes = abi_plan.host_bytes;
  plan.num_slots = static_cast<int64_t>(abi_plan.n_slots);
  plan.needs_banks = abi_plan.needs_banks != 0;
  plan.core_bytes = scratch_bytes + (has_banks ? 0 : options.source->staging_bytes());
  return plan;
}

Result<std::unique_ptr<MoeBackend>> MoeBackend::Create(const MoeBackendComponent& component,
                                                       const MoeBackendOptions& options) {
  FT_ASSIGN_OR_RETURN(const MoeBackendPlan plan,
                      Plan(component, options, options.banks != nullptr));
  if (plan.needs_banks && options.banks == nullptr) {
    return FailedPrecondition("{}: wants all experts packed in host memory ({})", Who(component),
                              HumanBytes(options.source->model().total_expert_bytes()));
  }
  const uint64_t free_bytes = options.device->total_bytes() - options.device->allocated_bytes();
  if (plan.slot_bytes > free_bytes) {
    return ResourceExhausted("{}: wants {} of memory for experts on {}, which has {} left of {}",
                             Who(component), HumanBytes(plan.slot_bytes), options.device->name(),
                             HumanBytes(free_bytes), HumanBytes(options.device->total_bytes()));
  }
  std::unique_ptr<MoeBackend> backend(new MoeBackend(&component, plan));
  FT_RETURN_IF_ERROR(backend->Start(options));
  return backend;
}

MoeBackend::MoeBackend(const MoeBackendComponent* component, const MoeBackendPlan& plan)
    : component_(component), plan_(plan), state_(std::make_unique<State>()) {}

Status MoeBackend::Start(const MoeBackendOptions& options) {
  state_->device = options.device;
  state_->model = &options.source->model();
  state_->bytes_by_kind = options.bytes_by_kind;
  state_->abi_model = state_->model->Abi(plan_.chunk_tokens);
  state_->abi_budget = BudgetOf(options, options.banks != nullptr);
  state_->abi_budget.bytes_by_kind = state_->bytes_by_kind.data();
  MoeHostOptions host_options;
  host_options.name = Who(*component_);
  host_options.device = options.device;
  host_options.source = options.source;
  host_options.banks = options.banks;
  host_options.pool = options.pool;
  host_options.max_tokens = plan_.chunk_tokens;
  host_options.device_bytes = plan_.slot_bytes;
  host_options.host_bytes = plan_.staging_bytes + plan_.host_bytes;
  host_options.config = options.config;
  FT_ASSIGN_OR_RETURN(state_->host, MoeHost::Create(std::move(host_options)));
  FT_ASSIGN_OR_RETURN(state_->stream, options.device->CreateStream());
  ft_error error = EmptyAbiError();
  const ft_code code =
      component_->table->create(component_->state, state_->host->abi(), &state_->abi_model,
                                &state_->abi_budget, &state_->instance, &error);
  FT_RETURN_IF_ERROR(StatusOfAbi(code, error, Who(*component_)));
  if (state_->instance == nullptr) {
    return PluginFault("{}: create gave nothing", Who(*component_));
  }
  return Status();
}

MoeBackend::~MoeBackend() {
  if (state_->instance != nullptr) {
    component_->table->destroy(state_->instance);
  }
  if (state_->stream != nullptr) {
    state_->device->DestroyStream(state_->stream);
  }
}

Status MoeBackend::Forward(const MoeForward& forward) {
  if (state_->model->LayerIndex(forward.layer_id) < 0) {
    return InvalidArgument("{}: layer {} has no experts", Who(*component_), forward.layer_id);
  }
  const ExpertKind& kind = state_->model->codec_of_layer(forward.layer_id).kind();
  for (int64_t route = 0; route < forward.num_tokens * kind.top_k; ++route) {
    if (forward.expert_ids[route] >= kind.num_experts) {
      return InvalidArgument("{}: layer {} has {} experts, a route wants {}", Who(*component_),
                             forward.layer_id, kind.num_experts, forward.expert_ids[route]);
    }
  }
  ft_moe_io io = {};
  io.hdr = {sizeof(io), FT_TAG_MOE_IO, nullptr};
  io.layer_id = static_cast<uint32_t>(forward.layer_id);
  io.mode = forward.compute_mode;
  io.deterministic = forward.is_deterministic ? 1 : 0;
  io.x_stride = forward.x_stride;
  io.out_stride = forward.out_stride;
  io.stream = reinterpret_cast<ft_stream*>(state_->stream);
  for (int64_t begin = 0; begin < forward.num_tokens; begin += plan_.chunk_tokens) {
    io.n_tokens = std::min(plan_.chunk_tokens, forward.num_tokens - begin);
    io.x = forward.x + begin * forward.x_stride;
    io.topk_ids = forward.expert_ids + begin * kind.top_k;
    io.topk_weights = forward.expert_weights + begin * kind.top_k;
    io.out = forward.out + begin * forward.out_stride;
    ft_error error = EmptyAbiError();
    const ft_code code = component_->table->forward(state_->instance, &io, &error);
    // Also after a failure: queued work still reads the caller's arrays.
    const Status synced = state_->device->SyncStream(state_->stream);
    if (code != FT_OK) {
      return StatusOfAbi(code, error, Who(*component_));
    }
    if (!synced.ok()) {
      return synced.WithContext(Who(*component_));
    }
  }
  return Status();
}

MoeBackendCounters MoeBackend::counters() const {
  ft_moe_counters abi = {};
  abi.hdr = {sizeof(abi), FT_TAG_MOE_COUNTERS, nullptr};
  ft_error error = EmptyAbiError();
  if (component_->table->counters(state_->instance, &abi, &error) != FT_OK) {
    return {};
  }
  MoeBackendCounters counters;
  counters.hits = abi.hits;
  counters.misses = abi.misses;
  counters.fetches = abi.fetches;
  counters.evictions = abi.evictions;
  counters.cpu_experts = abi.cpu_experts;
  counters.routes = abi.routes;
  counters.waves = abi.waves;
  counters.bytes_fetched = abi.bytes_fetched;
  counters.bytes_resident = abi.bytes_resident;
  counters.fetch_ns = abi.fetch_ns;
  counters.compute_ns = abi.compute_ns;
  return counters;
}

uint64_t MoeBackend::slot_bytes_held() const {
  return state_->host->device_bytes_held();
}

uint64_t MoeBackend::host_bytes_held() const {
  return state_->host->host_bytes_held();
}

}  // namespace ft
