// For authors of MoE backends in C++: finding services, owning what they hand out, layer look-up.
// Header only, beside the C boundary and no part of it; needs nothing of ft but plugin_api.
#ifndef FT_PLUGIN_MOE_SDK_H
#define FT_PLUGIN_MOE_SDK_H
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "ft/plugin/host_services.h"
#include "ft/plugin/moe_backend.h"

namespace ft {
namespace plugin {

/// Fills `error` (may be null) with a formatted sentence and returns `code`.
__attribute__((format(printf, 3, 4))) inline ft_code Fail(ft_error* error,
                                                          ft_code code,
                                                          const char* format,
                                                          ...) {
  if (error != nullptr) {
    error->code = code;
    error->native = 0;
    error->remedy[0] = '\0';
    va_list args;
    va_start(args, format);
    static_cast<void>(std::vsnprintf(error->message, sizeof(error->message), format, args));
    va_end(args);
  }
  return code;
}

/// The services that a MoE backend's instance has.
struct Services {
  const ft_svc_log* log = nullptr;
  const ft_svc_memory* memory = nullptr;
  const ft_svc_device* device = nullptr;
  const ft_svc_config* config = nullptr;
  const ft_svc_experts* experts = nullptr;

  /// FT_E_ABI where the host lacks one that this header's functions need.
  static ft_code Find(const ft_host* host, Services* out, ft_error* error) {
    out->log = static_cast<const ft_svc_log*>(host->service(host->ctx, "ft.log", 0));
    out->memory = static_cast<const ft_svc_memory*>(host->service(host->ctx, "ft.memory", 0));
    out->device = static_cast<const ft_svc_device*>(host->service(host->ctx, "ft.device", 0));
    out->config = static_cast<const ft_svc_config*>(host->service(host->ctx, "ft.config", 0));
    out->experts = static_cast<const ft_svc_experts*>(host->service(host->ctx, "ft.experts", 0));
    if (!FT_HAS(out->memory, ft_svc_memory, free) ||
        !FT_HAS(out->device, ft_svc_device, event_time_ns) ||
        !FT_HAS(out->experts, ft_svc_experts, sum_routes)) {
      return Fail(error, FT_E_ABI, "the host lacks ft.memory, ft.device or ft.experts 0");
    }
    return FT_OK;
  }
};

/// Memory from ft.memory, given back at the end.
class Memory {
 public:
  Memory() = default;

  Memory(Memory&& other) noexcept { *this = std::move(other); }

  Memory& operator=(Memory&& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
    return *this;
  }

  ~Memory() {
    if (data_ != nullptr) {
      service_->free(service_->ctx, kind_, data_);
    }
  }

  /// `kind` FT_MEM_*; `label` has static lifetime. 0 bytes: nothing is taken.
  static ft_code Take(const ft_svc_memory* service,
                      uint32_t kind,
                      uint64_t bytes,
                      const char* label,
                      Memory* out,
                      ft_error* error) {
    Memory memory;
    memory.service_ = service;
    memory.kind_ = kind;
    if (bytes != 0) {
      const ft_code code = service->alloc(service->ctx, kind, bytes, 64,
                                          {label, std::strlen(label)}, &memory.data_, error);
      if (code != FT_OK) {
        return code;
      }
    }
    *out = std::move(memory);
    return FT_OK;
  }

  void* data() const { return data_; }

  /// `bytes` from the start. On a device an address to compute with, not to read.
  unsigned char* at(uint64_t bytes) const { return static_cast<unsigned char*>(data_) + bytes; }

 private:
  const ft_svc_memory* service_ = nullptr;
  uint32_t kind_ = 0;
  void* data_ = nullptr;
};

/// A stream of the device, destroyed at the end.
class StreamOwner {
 public:
  StreamOwner() = default;
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  ~StreamOwner() {
    if (stream_ != nullptr) {
      device_->stream_destroy(device_->ctx, stream_);
    }
  }

  ft_code Create(const ft_svc_device* device, ft_error* error) {
    device_ = device;
    return device->stream_create(device->ctx, &stream_, error);
  }

  ft_stream* get() const { return stream_; }

 private:
  const ft_svc_device* device_ = nullptr;
  ft_stream* stream_ = nullptr;
};

/// An event of the device, destroyed at the end.
class EventOwner {
 public:
  EventOwner() = default;
  EventOwner(const EventOwner&) = delete;
  EventOwner& operator=(const EventOwner&) = delete;

  ~EventOwner() {
    if (event_ != nullptr) {
      device_->event_destroy(device_->ctx, event_);
    }
  }

  ft_code Create(const ft_svc_device* device, ft_error* error) {
    device_ = device;
    return device->event_create(device->ctx, &event_, error);
  }

  ft_code Record(ft_stream* stream, ft_error* error) {
    return device_->event_record(device_->ctx, event_, stream, error);
  }

  /// Later work of `stream` runs behind it.
  ft_code MakeWait(ft_stream* stream, ft_error* error) {
    return device_->stream_wait(device_->ctx, stream, event_, error);
  }

  /// The host waits.
  ft_code Sync(ft_error* error) { return device_->event_sync(device_->ctx, event_, error); }

  /// 0 when it was not recorded or not passed.
  uint64_t time_ns() const {
    uint64_t time = 0;
    return device_->event_time_ns(device_->ctx, event_, &time, nullptr) == FT_OK ? time : 0;
  }

 private:
  const ft_svc_device* device_ = nullptr;
  ft_event* event_ = nullptr;
};

/// Largest extents over the layer kinds of a model, for buffers that all layers share.
struct MoeExtents {
  int32_t max_experts = 0;
  int64_t max_routes = 0;         ///< of one forward
  uint64_t route_floats = 0;      ///< of y: [routes, hidden_dim], the largest kind
  uint64_t max_expert_bytes = 0;  ///< one packed expert

  explicit MoeExtents(const ft_moe_model& model) {
    for (uint32_t kind = 0; kind < model.n_kinds; ++kind) {
      const ft_expert_kind& expert = *model.kinds[kind];
      const int64_t routes = model.max_tokens * static_cast<int64_t>(expert.top_k);
      const auto floats = static_cast<uint64_t>(routes * expert.hidden_dim);
      max_experts = Larger(max_experts, static_cast<int32_t>(expert.n_experts));
      max_routes = Larger(max_routes, routes);
      route_floats = Larger(route_floats, floats);
      max_expert_bytes = Larger(max_expert_bytes, model.expert_bytes[kind]);
    }
  }

 private:
  template <typename Number>
  static Number Larger(Number a, Number b) {
    return a < b ? b : a;
  }
};

/// From a layer's id to its kind and to its place among the layers of that kind.
class LayerTable {
 public:
  struct Entry {
    uint32_t kind = 0;
    uint32_t index_in_kind = 0;
    bool exists = false;
  };

  explicit LayerTable(const ft_moe_model& model) : num_of_kind_(model.n_kinds, 0) {
    for (uint32_t i = 0; i < model.n_layers; ++i) {
      const ft_moe_layer& layer = model.layers[i];
      if (layer.layer_id >= entries_.size()) {
        entries_.resize(layer.layer_id + size_t{1});
      }
      entries_[layer.layer_id] = {layer.kind, num_of_kind_[layer.kind]++, true};
    }
  }

  /// Null when the layer has no experts.
  const Entry* Find(uint32_t layer_id) const {
    return layer_id < entries_.size() && entries_[layer_id].exists ? &entries_[layer_id] : nullptr;
  }

  uint32_t num_layers_of_kind(uint32_t kind) const { return num_of_kind_[kind]; }

 private:
  std::vector<Entry> entries_;
  std::vector<uint32_t> num_of_kind_;
};

/// The table of a class with
///   static ft_code Plan(const ft_moe_model&, const ft_moe_budget&, ft_moe_plan*, ft_error*);
///   static ft_code Create(const ft_host*, const ft_moe_model&, const ft_moe_budget&,
///                         std::unique_ptr<Backend>*, ft_error*);
///   ft_code Forward(const ft_moe_io&, ft_error*);
///   void Counters(ft_moe_counters*) const;   // any thread
template <typename Backend>
ft_moe_backend MakeMoeBackendTable(uint64_t caps) {
  ft_moe_backend table = {};
  table.hdr = {sizeof(table), FT_TAG_MOE_BACKEND, nullptr};
  table.caps = caps;
  table.plan = [](void*, const ft_moe_model* model, const ft_moe_budget* budget, ft_moe_plan* out,
                  ft_error* error)
                   FT_NOEXCEPT { return Backend::Plan(*model, *budget, out, error); };
  table.create = [](void*, const ft_host* host, const ft_moe_model* model,
                    const ft_moe_budget* budget, void** instance, ft_error* error) FT_NOEXCEPT {
    try {
      std::unique_ptr<Backend> backend;
      const ft_code code = Backend::Create(host, *model, *budget, &backend, error);
      if (code == FT_OK) {
        *instance = backend.release();
      }
      return code;
    } catch (const std::bad_alloc&) {
      return Fail(error, FT_E_NO_MEMORY, "no host memory for the tables of an instance");
    }
  };
  table.forward = [](void* instance, const ft_moe_io* io, ft_error* error)
                      FT_NOEXCEPT { return static_cast<Backend*>(instance)->Forward(*io, error); };
  table.counters = [](void* instance, ft_moe_counters* out, ft_error*) FT_NOEXCEPT {
    static_cast<const Backend*>(instance)->Counters(out);
    return ft_code{FT_OK};
  };
  table.destroy = [](void* instance) FT_NOEXCEPT { delete static_cast<Backend*>(instance); };
  return table;
}

/// `name` and `table` have static lifetime.
inline ft_component MoeBackendComponent(const char* name, const ft_moe_backend* table) {
  ft_component component = {};
  component.hdr = {sizeof(component), FT_TAG_COMPONENT, nullptr};
  component.kind = {FT_KIND_MOE_BACKEND, std::strlen(FT_KIND_MOE_BACKEND)};
  component.name = {name, std::strlen(name)};
  component.major = FT_MOE_BACKEND_MAJOR;
  component.minor = FT_MOE_BACKEND_MINOR;
  component.vtable = table;
  return component;
}

}  // namespace plugin
}  // namespace ft

/// Returns the ft_code of `expr` from the calling function unless it is FT_OK.
#define FT_PLUGIN_RETURN_IF_FAILED(expr)        \
  do {                                          \
    const ft_code ft_plugin_code = (expr);      \
    if (ft_plugin_code != FT_OK) [[unlikely]] { \
      return ft_plugin_code;                    \
    }                                           \
  } while (false)
#endif
