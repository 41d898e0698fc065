#include "plugins/moe-offload/backend.h"

#include <algorithm>

#include "plugins/moe-offload/plan.h"

namespace ft::moe_offload {

using plugin::Fail;
using plugin::LayerTable;
using plugin::Memory;
using plugin::MoeExtents;

Backend::Backend(const ft_moe_model& model)
    : model_(model),
      layers_(model),
      routes_(MoeExtents(model).max_routes, MoeExtents(model).max_experts) {
  const auto max_experts = static_cast<size_t>(MoeExtents(model).max_experts);
  pending_.resize(max_experts);
  placed_.resize(max_experts);
  reads_.resize(max_experts);
  jobs_.resize(max_experts);
}

ft_code Backend::Plan(const ft_moe_model& model,
                      const ft_moe_budget& budget,
                      ft_moe_plan* out,
                      ft_error* error) {
  return MakePlan(model, budget, out, error);
}

ft_code Backend::Create(const ft_host* host,
                        const ft_moe_model& model,
                        const ft_moe_budget& budget,
                        std::unique_ptr<Backend>* out,
                        ft_error* error) {
  std::unique_ptr<Backend> backend(new Backend(model));
  FT_PLUGIN_RETURN_IF_FAILED(backend->Start(host, budget, error));
  *out = std::move(backend);
  return FT_OK;
}

ft_code Backend::Start(const ft_host* host, const ft_moe_budget& budget, ft_error* error) {
  ft_moe_plan plan = {};
  FT_PLUGIN_RETURN_IF_FAILED(MakePlan(model_, budget, &plan, error));
  std::vector<int32_t> slots;
  FT_PLUGIN_RETURN_IF_FAILED(SlotsByKind(model_, budget, &slots, error));
  FT_PLUGIN_RETURN_IF_FAILED(plugin::Services::Find(host, &services_, error));
  is_on_device_ = budget.device_kind != FT_DEVICE_CPU;
  for (uint32_t kind = 0; kind < model_.n_kinds; ++kind) {
    const auto num_keys = static_cast<int32_t>(NumExpertsOfKind(model_, kind));
    auto pool = std::make_unique<Pool>(
        Pool{ExpertCache(num_keys, slots[kind]), model_.expert_bytes[kind], {}, {}});
    pool->wave_of_slot.resize(static_cast<size_t>(slots[kind]));
    FT_PLUGIN_RETURN_IF_FAILED(Memory::Take(services_.memory, FT_MEM_DEVICE,
                                            static_cast<uint64_t>(slots[kind]) * pool->expert_bytes,
                                            "expert slots", &pool->memory, error));
    pools_.push_back(std::move(pool));
  }
  FT_PLUGIN_RETURN_IF_FAILED(Memory::Take(services_.memory, FT_MEM_HOST_PINNED,
                                          MoeExtents(model_).route_floats * sizeof(float),
                                          "results of routes", &route_results_, error));
  for (plugin::EventOwner* event : {&computed_[0], &computed_[1], &begin_, &end_}) {
    FT_PLUGIN_RETURN_IF_FAILED(event->Create(services_.device, error));
  }
  return fetcher_.Create(services_, model_, budget, error);
}

// The tables of a step are read by its kernels, so they may change only behind them.
ft_code Backend::WaitForLastForward(ft_error* error) {
  if (has_run_) {
    has_run_ = false;
    FT_PLUGIN_RETURN_IF_FAILED(end_.Sync(error));
    fetcher_.CountTime();
    // Without a copy engine the step's time is that of both lanes, one after the other.
    const uint64_t both_ns = end_.time_ns() - begin_.time_ns();
    const uint64_t fetch_ns = is_on_device_ ? 0 : fetcher_.fetch_ns() - fetch_ns_before_;
    compute_ns_ += both_ns > fetch_ns ? both_ns - fetch_ns : 0;
  }
  return FT_OK;
}

ft_code Backend::Forward(const ft_moe_io& io, ft_error* error) {
  FT_PLUGIN_RETURN_IF_FAILED(WaitForLastForward(error));
  const LayerTable::Entry* layer = layers_.Find(io.layer_id);
  if (layer == nullptr || io.n_tokens < 0 || io.n_tokens > model_.max_tokens) {
    return Fail(error, FT_E_INVALID_ARG, "layer %u with %lld tokens: no such layer, or too many",
                io.layer_id, static_cast<long long>(io.n_tokens));
  }
  if (io.n_tokens == 0) {
    return FT_OK;
  }
  const ft_expert_kind& kind = *model_.kinds[layer->kind];
  if (!routes_.Build(io.topk_ids, io.topk_weights, io.n_tokens, static_cast<int32_t>(kind.top_k),
                     static_cast<int32_t>(kind.n_experts))) {
    return Fail(error, FT_E_INVALID_ARG, "layer %u has %u experts, a route wants %d", io.layer_id,
                kind.n_experts, routes_.bad_id());
  }
  Step step;
  step.io = &io;
  step.kind = &kind;
  step.pool = pools_[layer->kind].get();
  step.first_key = static_cast<int32_t>(layer->index_in_kind * kind.n_experts);
  FT_PLUGIN_RETURN_IF_FAILED(begin_.Record(io.stream, error));
  first_wave_ = wave_ + 1;
  fetch_ns_before_ = fetcher_.fetch_ns();
  const ft_code code = RunWaves(&step, error);
  if (code != FT_OK) {
    // What was issued still reads this step's tables.
    fetcher_.Drain();
    static_cast<void>(services_.device->stream_sync(services_.device->ctx, io.stream, nullptr));
    return code;
  }
  FT_PLUGIN_RETURN_IF_FAILED(
      services_.experts->sum_routes(services_.experts->ctx, io.layer_id, io.n_tokens, io.topk_ids,
                                    static_cast<const float*>(route_results_.data()),
                                    kind.hidden_dim, io.out, io.out_stride, io.stream, error));
  FT_PLUGIN_RETURN_IF_FAILED(end_.Record(io.stream, error));
  has_run_ = true;
  num_routes_ += static_cast<uint64_t>(routes_.num_routes());
  uint64_t resident = 0;
  for (const auto& pool : pools_) {
    resident += static_cast<uint64_t>(pool->cache.num_resident()) * pool->expert_bytes;
  }
  bytes_resident_ = resident;
  return FT_OK;
}

ft_code Backend::RunWaves(Step* step, ft_error* error) {
  const std::span<const int32_t> experts = routes_.experts();
  for (size_t i = 0; i < experts.size(); ++i) {
    pending_[i] = step->first_key + experts[i];
  }
  const int32_t num_slots = step->pool->cache.num_slots();
  auto num_pending = static_cast<int32_t>(experts.size());
  // Half the slots per wave where there are several waves: the next wave's fetches go to the other
  // half while this one's kernels run.
  const bool has_overlap = is_on_device_ && num_pending > num_slots;
  const int32_t max_wave = has_overlap ? std::max(1, num_slots / 2) : num_slots;
  while (num_pending > 0) {
    const int32_t num_placed = step->pool->cache.PlaceWave(
        std::span(pending_).first(static_cast<size_t>(num_pending)), max_wave, placed_);
    num_pending -= num_placed;
    FT_PLUGIN_RETURN_IF_FAILED(
        RunWave(step, std::span(placed_).first(static_cast<size_t>(num_placed)), error));
  }
  return FT_OK;
}

// Hits are computed at once, misses behind their fetch.
ft_code Backend::RunWave(Step* step, std::span<const Placement> placed, ft_error* error) {
  ++wave_;
  ++num_waves_;
  const auto first_miss = std::find_if(
      placed.begin(), placed.end(), [](const Placement& placement) { return !placement.is_hit; });
  const auto num_hits = static_cast<size_t>(first_miss - placed.begin());
  const std::span<const Placement> misses = placed.subspan(num_hits);
  num_hits_ += num_hits;
  num_misses_ += misses.size();
  for (const Placement& hit : placed.first(num_hits)) {
    AddJob(step, hit);
  }
  ft_code code = IssueJobs(step, error);
  if (code == FT_OK && !misses.empty()) {
    code = FetchMisses(step, misses, error);
  }
  if (code != FT_OK) {
    for (const Placement& miss : misses) {
      step->pool->cache.Forget(miss.key);
    }
    return code;
  }
  for (const Placement& miss : misses) {
    AddJob(step, miss);
  }
  FT_PLUGIN_RETURN_IF_FAILED(IssueJobs(step, error));
  for (const Placement& placement : placed) {
    step->pool->wave_of_slot[static_cast<size_t>(placement.slot)] = wave_;
  }
  return computed_[wave_ % 2].Record(step->io->stream, error);
}

ft_code Backend::FetchMisses(Step* step, std::span<const Placement> misses, ft_error* error) {
  Pool& pool = *step->pool;
  uint64_t last_use = 0;
  for (size_t i = 0; i < misses.size(); ++i) {
    const auto slot = static_cast<uint64_t>(misses[i].slot);
    last_use = std::max(last_use, pool.wave_of_slot[slot]);
    reads_[i] = {step->io->layer_id, static_cast<uint32_t>(misses[i].key - step->first_key),
                 pool.memory.at(slot * pool.expert_bytes)};
    num_evictions_ += misses[i].evicted != kNoKey ? 1 : 0;
  }
  // Waves of earlier forwards have passed. Of this one's, two have an event: an older one has
  // passed when the wave before the last has.
  if (last_use >= first_wave_) {
    const uint64_t wait_for = std::max(last_use, wave_ - 2);
    FT_PLUGIN_RETURN_IF_FAILED(fetcher_.WaitFor(&computed_[wait_for % 2], error));
  }
  FT_PLUGIN_RETURN_IF_FAILED(fetcher_.Fetch(std::span(reads_).first(misses.size()),
                                            pool.expert_bytes, wave_, step->io->stream, error));
  num_fetches_ += misses.size();
  bytes_fetched_ += misses.size() * pool.expert_bytes;
  return FT_OK;
}

void Backend::AddJob(Step* step, const Placement& placement) {
  const RouteTable::Group group = routes_.Of(placement.key - step->first_key);
  const uint64_t offset = static_cast<uint64_t>(placement.slot) * step->pool->expert_bytes;
  jobs_[step->num_jobs++] = {step->pool->memory.at(offset),
                             static_cast<int64_t>(group.tokens.size()), group.tokens.data(),
                             group.routes.data(), group.weights.data()};
}

ft_code Backend::IssueJobs(Step* step, ft_error* error) {
  const uint32_t num_new = step->num_jobs - step->num_issued;
  if (num_new == 0) {
    return FT_OK;
  }
  ft_moe_compute compute = {};
  compute.hdr = {sizeof(compute), FT_TAG_MOE_COMPUTE, nullptr};
  compute.layer_id = step->io->layer_id;
  compute.mode = step->io->mode;
  compute.on_device = is_on_device_ ? 1 : 0;
  compute.n_jobs = num_new;
  compute.jobs = &jobs_[step->num_issued];
  compute.x = step->io->x;
  compute.x_stride = step->io->x_stride;
  compute.y = static_cast<float*>(route_results_.data());
  compute.y_stride = step->kind->hidden_dim;
  step->num_issued = step->num_jobs;
  return services_.experts->compute(services_.experts->ctx, &compute, step->io->stream, error);
}

void Backend::Counters(ft_moe_counters* out) const {
  out->hits = num_hits_;
  out->misses = num_misses_;
  out->fetches = num_fetches_;
  out->evictions = num_evictions_;
  out->routes = num_routes_;
  out->waves = num_waves_;
  out->bytes_fetched = bytes_fetched_;
  out->bytes_resident = bytes_resident_;
  out->fetch_ns = fetcher_.fetch_ns();
  out->compute_ns = compute_ns_;
}

}  // namespace ft::moe_offload
