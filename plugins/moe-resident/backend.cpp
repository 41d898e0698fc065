#include "plugins/moe-resident/backend.h"

#include <algorithm>
#include <array>

#include "plugins/moe-resident/plan.h"

namespace ft::moe_resident {

using plugin::Fail;
using plugin::LayerTable;
using plugin::Memory;
using plugin::MoeExtents;

Backend::Backend(const ft_moe_model& model)
    : model_(model),
      layers_(model),
      routes_(MoeExtents(model).max_routes, MoeExtents(model).max_experts),
      jobs_(static_cast<size_t>(MoeExtents(model).max_experts)) {}

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
  ft_moe_plan plan = {};
  FT_PLUGIN_RETURN_IF_FAILED(MakePlan(model, budget, &plan, error));
  if (plan.needs_banks != 0 && budget.has_banks == 0) {
    return Fail(error, FT_E_FAILED_PRECOND, "wants all experts packed in host memory");
  }
  std::unique_ptr<Backend> backend(new Backend(model));
  FT_PLUGIN_RETURN_IF_FAILED(plugin::Services::Find(host, &backend->services_, error));
  const plugin::Services& services = backend->services_;
  FT_PLUGIN_RETURN_IF_FAILED(Memory::Take(services.memory, FT_MEM_HOST_PINNED,
                                          MoeExtents(model).route_floats * sizeof(float),
                                          "results of routes", &backend->route_results_, error));
  FT_PLUGIN_RETURN_IF_FAILED(backend->begin_.Create(services.device, error));
  FT_PLUGIN_RETURN_IF_FAILED(backend->end_.Create(services.device, error));
  backend->is_on_device_ = budget.device_kind != FT_DEVICE_CPU;
  if (backend->is_on_device_) {
    FT_PLUGIN_RETURN_IF_FAILED(backend->CopyAllToDevice(budget.has_banks != 0, error));
  }
  *out = std::move(backend);
  return FT_OK;
}

ft_code Backend::CopyAllToDevice(bool has_banks, ft_error* error) {
  experts_of_kind_.resize(model_.n_kinds);
  for (uint32_t kind = 0; kind < model_.n_kinds; ++kind) {
    const uint64_t bytes = uint64_t{layers_.num_layers_of_kind(kind)} *
                           model_.kinds[kind]->n_experts * model_.expert_bytes[kind];
    FT_PLUGIN_RETURN_IF_FAILED(Memory::Take(services_.memory, FT_MEM_DEVICE, bytes, "experts",
                                            &experts_of_kind_[kind], error));
  }
  Memory staging;
  if (!has_banks) {
    FT_PLUGIN_RETURN_IF_FAILED(Memory::Take(services_.memory, FT_MEM_HOST_PINNED,
                                            kStagingExperts * MoeExtents(model_).max_expert_bytes,
                                            "experts on their way", &staging, error));
  }
  plugin::StreamOwner stream;
  FT_PLUGIN_RETURN_IF_FAILED(stream.Create(services_.device, error));
  for (uint32_t i = 0; i < model_.n_layers; ++i) {
    const uint32_t layer_id = model_.layers[i].layer_id;
    FT_PLUGIN_RETURN_IF_FAILED(
        CopyLayer(layer_id, *layers_.Find(layer_id), has_banks, staging, stream.get(), error));
  }
  return services_.device->stream_sync(services_.device->ctx, stream.get(), error);
}

ft_code Backend::CopyLayer(uint32_t layer_id,
                           const LayerTable::Entry& layer,
                           bool has_banks,
                           const Memory& staging,
                           ft_stream* stream,
                           ft_error* error) {
  const uint64_t bytes = model_.expert_bytes[layer.kind];
  const uint32_t num_experts = model_.kinds[layer.kind]->n_experts;
  std::array<ft_expert_read, kStagingExperts> reads{};
  for (uint32_t begin = 0; begin < num_experts; begin += kStagingExperts) {
    const uint32_t count = std::min(kStagingExperts, num_experts - begin);
    if (!has_banks) {
      for (uint32_t i = 0; i < count; ++i) {
        reads[i] = {layer_id, begin + i, staging.at(i * bytes)};
      }
      FT_PLUGIN_RETURN_IF_FAILED(
          services_.experts->read(services_.experts->ctx, reads.data(), count, error));
    }
    for (uint32_t i = 0; i < count; ++i) {
      const void* from = has_banks
                             ? services_.experts->bank(services_.experts->ctx, layer_id, begin + i)
                             : staging.at(i * bytes);
      void* to = const_cast<void*>(WeightsOf(layer_id, layer, static_cast<int32_t>(begin + i)));
      FT_PLUGIN_RETURN_IF_FAILED(services_.device->copy_async(
          services_.device->ctx, stream, to, from, bytes, FT_COPY_HOST_TO_DEVICE, error));
    }
    bytes_fetched_ += count * bytes;
    if (!has_banks) {  // before the staging memory is written again
      FT_PLUGIN_RETURN_IF_FAILED(
          services_.device->stream_sync(services_.device->ctx, stream, error));
    }
  }
  return FT_OK;
}

const void* Backend::WeightsOf(uint32_t layer_id,
                               const LayerTable::Entry& layer,
                               int32_t expert) const {
  const auto expert_id = static_cast<uint32_t>(expert);
  if (!is_on_device_) {
    return services_.experts->bank(services_.experts->ctx, layer_id, expert_id);
  }
  const uint64_t index =
      uint64_t{layer.index_in_kind} * model_.kinds[layer.kind]->n_experts + expert_id;
  return experts_of_kind_[layer.kind].at(index * model_.expert_bytes[layer.kind]);
}

// The tables of a step are read by its kernels, so they may change only behind them.
ft_code Backend::WaitForLastForward(ft_error* error) {
  if (has_run_) {
    FT_PLUGIN_RETURN_IF_FAILED(end_.Sync(error));
    compute_ns_ += end_.time_ns() - begin_.time_ns();
    has_run_ = false;
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
  uint32_t num_jobs = 0;
  for (const int32_t expert : routes_.experts()) {
    const RouteTable::Group group = routes_.Of(expert);
    jobs_[num_jobs++] = {WeightsOf(io.layer_id, *layer, expert),
                         static_cast<int64_t>(group.tokens.size()), group.tokens.data(),
                         group.routes.data(), group.weights.data()};
  }
  auto* results = static_cast<float*>(route_results_.data());
  FT_PLUGIN_RETURN_IF_FAILED(begin_.Record(io.stream, error));
  if (num_jobs != 0) {
    ft_moe_compute compute = {};
    compute.hdr = {sizeof(compute), FT_TAG_MOE_COMPUTE, nullptr};
    compute.layer_id = io.layer_id;
    compute.mode = io.mode;
    compute.on_device = is_on_device_ ? 1 : 0;
    compute.n_jobs = num_jobs;
    compute.jobs = jobs_.data();
    compute.x = io.x;
    compute.x_stride = io.x_stride;
    compute.y = results;
    compute.y_stride = kind.hidden_dim;
    FT_PLUGIN_RETURN_IF_FAILED(
        services_.experts->compute(services_.experts->ctx, &compute, io.stream, error));
  }
  FT_PLUGIN_RETURN_IF_FAILED(services_.experts->sum_routes(
      services_.experts->ctx, io.layer_id, io.n_tokens, io.topk_ids, results, kind.hidden_dim,
      io.out, io.out_stride, io.stream, error));
  FT_PLUGIN_RETURN_IF_FAILED(end_.Record(io.stream, error));
  has_run_ = true;
  num_hits_ += num_jobs;
  num_routes_ += static_cast<uint64_t>(routes_.num_routes());
  ++num_forwards_;
  return FT_OK;
}

void Backend::Counters(ft_moe_counters* out) const {
  out->hits = num_hits_;
  out->routes = num_routes_;
  out->waves = num_forwards_;
  out->bytes_fetched = bytes_fetched_;
  out->compute_ns = compute_ns_;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < model_.n_layers; ++i) {
    const uint32_t kind = model_.layers[i].kind;
    bytes += uint64_t{model_.kinds[kind]->n_experts} * model_.expert_bytes[kind];
  }
  out->bytes_resident = bytes;
}

}  // namespace ft::moe_resident
