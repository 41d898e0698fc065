#include "core/moe/moe_host.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/quant/abi_status.h"
#include "core/quant/exec.h"

namespace ft {

// Memory bandwidth of the simulated device (an RTX 3090), for the time of its kernels: decoding is
// bound by reading weights.
constexpr double kSimBytesPerUs = 936e3;

struct SumRoutesArgs {
  const int32_t* ids;
  const float* y;
  int64_t y_stride;
  float* out;
  int64_t out_stride;
  int64_t num_tokens;
  int64_t hidden_dim;
  uint32_t top_k;
};

// The services' functions: each finds its MoeHost and turns a Status into a code.
struct MoeHostKernels {
  struct ComputeArgs {
    MoeHost* host;
    ft_moe_compute compute;
  };

  struct SumArgs {
    MoeHost* host;
    SumRoutesArgs sum;
  };

  static MoeHost* Self(void* ctx) { return static_cast<MoeHost*>(ctx); }

  static Status RunCompute(const DeviceMemory& memory, const void* raw) {
    ComputeArgs args{};
    std::memcpy(&args, raw, sizeof(args));
    return args.host->RunCompute(&memory, args.compute);
  }

  static Status RunSum(const DeviceMemory& /*memory*/, const void* raw) {
    SumArgs args{};
    std::memcpy(&args, raw, sizeof(args));
    args.host->RunSumRoutes(args.sum);
    return Status();
  }

  static ft_code Alloc(void* ctx,
                       uint32_t kind,
                       uint64_t bytes,
                       uint64_t align,
                       ft_str label,
                       void** out,
                       ft_error* error) noexcept {
    Status status = Self(ctx)->Allocate(kind, bytes, align, out);
    if (!status.ok() && label.ptr != nullptr) {
      status = status.WithContext(std::string_view(label.ptr, std::min<size_t>(label.len, 100)));
    }
    return FillAbiError(status, error);
  }

  static void Free(void* ctx, uint32_t /*kind*/, void* memory) noexcept { Self(ctx)->Free(memory); }

  static const void* Bank(void* ctx, uint32_t layer_id, uint32_t expert_id) noexcept {
    const ExpertBanks* banks = Self(ctx)->options_.banks;
    return banks == nullptr ? nullptr
                            : banks->Find(static_cast<int>(layer_id), static_cast<int>(expert_id));
  }

  static ft_code Read(void* ctx,
                      const ft_expert_read* reads,
                      uint32_t count,
                      ft_error* error) noexcept {
    return FillAbiError(Self(ctx)->Read(reads, count), error);
  }

  static ft_code Compute(void* ctx,
                         const ft_moe_compute* compute,
                         ft_stream* stream,
                         ft_error* error) noexcept {
    if (!FT_HAS(compute, ft_moe_compute, y_stride)) {
      return FillAbiError(InvalidArgument("compute: the arguments are too short"), error);
    }
    return FillAbiError(Self(ctx)->Compute(*compute, stream), error);
  }

  // The ABI's parameters.  NOLINTNEXTLINE(readability-function-size)
  static ft_code SumRoutes(void* ctx,
                           uint32_t layer_id,
                           int64_t num_tokens,
                           const int32_t* ids,
                           const float* y,
                           int64_t y_stride,
                           float* out,  // NOLINT(readability-non-const-parameter)
                           int64_t out_stride,
                           ft_stream* stream,
                           ft_error* error) noexcept {
    const MoeModel& model = Self(ctx)->model_;
    if (model.LayerIndex(static_cast<int>(layer_id)) < 0) {
      return FillAbiError(InvalidArgument("sum_routes: layer {} has no experts", layer_id), error);
    }
    const ExpertKind& kind = model.codec_of_layer(static_cast<int>(layer_id)).kind();
    const SumRoutesArgs args = {
        ids,        y,          y_stride,        out,
        out_stride, num_tokens, kind.hidden_dim, static_cast<uint32_t>(kind.top_k)};
    return FillAbiError(Self(ctx)->SumRoutes(args, stream), error);
  }

  static void Log(void* ctx, int32_t level, ft_str component, ft_str text) noexcept {
    LogLine(static_cast<LogLevel>(std::clamp(level, FT_LOG_TRACE, FT_LOG_ERROR)),
            fmt::format("{}: {}: {}", Self(ctx)->options_.name,
                        std::string_view(component.ptr, component.len),
                        std::string_view(text.ptr, text.len)));
  }

  static int32_t LogIsEnabled(void* /*ctx*/, int32_t level) noexcept {
    return LogEnabled(static_cast<LogLevel>(std::clamp(level, FT_LOG_TRACE, FT_LOG_ERROR))) ? 1 : 0;
  }

  static ft_code GetText(void* ctx, ft_str key, ft_str* out, ft_error* error) noexcept {
    const Result<const std::string*> value = Self(ctx)->Config({key.ptr, key.len});
    if (!value.ok()) {
      return FillAbiError(value.status(), error);
    }
    *out = {(*value)->data(), (*value)->size()};
    return FT_OK;
  }

  template <typename Number>
  static ft_code GetNumber(void* ctx, ft_str key, Number* out, ft_error* error) noexcept {
    const Result<const std::string*> value = Self(ctx)->Config({key.ptr, key.len});
    if (!value.ok()) {
      return FillAbiError(value.status(), error);
    }
    const std::string& text = **value;
    Number number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc() || stop != end) {
      return FillAbiError(InvalidArgument("config {}: \"{}\" is no number",
                                          std::string_view(key.ptr, key.len), text),
                          error);
    }
    *out = number;
    return FT_OK;
  }

  static const void* Service(void* ctx, const char* id, uint32_t major) noexcept {
    return id == nullptr ? nullptr : Self(ctx)->Service(id, major);
  }
};

Result<uint64_t> MoeHost::ScratchBytes(const MoeModel& model, int64_t max_tokens, int num_workers) {
  uint64_t most = 0;
  for (int index = 0; index < model.num_kinds(); ++index) {
    const ExpertCodec& codec = model.kind(index);
    FT_ASSIGN_OR_RETURN(
        const uint64_t bytes,
        codec.ScratchBytes(max_tokens * codec.kind().top_k, static_cast<uint32_t>(num_workers)));
    most = std::max(most, bytes);
  }
  return (most + 63) / 64 * 64;
}

MoeHost::MoeHost(MoeHostOptions options)
    : options_(std::move(options)), model_(options_.source->model()) {}

Result<std::unique_ptr<MoeHost>> MoeHost::Create(MoeHostOptions options) {
  std::unique_ptr<MoeHost> host(new MoeHost(std::move(options)));
  host->exec_ = MakeExec(host->options_.pool);
  FT_ASSIGN_OR_RETURN(host->scratch_bytes_, ScratchBytes(host->model_, host->options_.max_tokens,
                                                         host->options_.pool->num_workers()));
  host->scratch_ =
      static_cast<std::byte*>(std::aligned_alloc(64, std::max<uint64_t>(host->scratch_bytes_, 64)));
  if (host->scratch_ == nullptr) {
    return ResourceExhausted("{}: no memory for {} of kernels' scratch", host->options_.name,
                             HumanBytes(host->scratch_bytes_));
  }
  int most_experts = 0;
  for (int index = 0; index < host->model_.num_kinds(); ++index) {
    most_experts = std::max(most_experts, host->model_.kind(index).kind().num_experts);
  }
  host->jobs_.resize(static_cast<size_t>(most_experts));
  host->FillTables();
  return host;
}

MoeHost::~MoeHost() {
  std::free(scratch_);
  for (const auto& [memory, block] : blocks_) {
    FT_LOG(kWarning, "{}: left {} of memory behind", options_.name, HumanBytes(block.bytes));
    if (block.is_device) {
      options_.device->Free(memory);
    } else {
      std::free(memory);
    }
  }
}

void MoeHost::FillTables() {
  log_ = {{sizeof(log_), FT_TAG_SVC_LOG, nullptr},
          this,
          MoeHostKernels::LogIsEnabled,
          MoeHostKernels::Log};
  memory_ = {{sizeof(memory_), FT_TAG_SVC_MEMORY, nullptr},
             this,
             MoeHostKernels::Alloc,
             MoeHostKernels::Free};
  config_ = {{sizeof(config_), FT_TAG_SVC_CONFIG, nullptr},
             this,
             MoeHostKernels::GetText,
             MoeHostKernels::GetNumber<int64_t>,
             MoeHostKernels::GetNumber<double>};
  experts_ = {{sizeof(experts_), FT_TAG_SVC_EXPERTS, nullptr},
              this,
              MoeHostKernels::Bank,
              MoeHostKernels::Read,
              MoeHostKernels::Compute,
              MoeHostKernels::SumRoutes};
  FillDeviceTable();
  host_ = {};
  host_.hdr = {sizeof(host_), FT_TAG_HOST, nullptr};
  host_.abi_major = FT_ABI_MAJOR;
  host_.abi_minor = FT_ABI_MINOR;
  host_.mode = FT_MODE_SERVE;
  host_.product = {"ft", 2};
  host_.ctx = this;
  host_.service = MoeHostKernels::Service;
}

const void* MoeHost::Service(std::string_view id, uint32_t major) const {
  if (major != 0) {
    return nullptr;
  }
  if (id == "ft.log") {
    return &log_;
  }
  if (id == "ft.memory") {
    return &memory_;
  }
  if (id == "ft.device") {
    return &device_;
  }
  if (id == "ft.config") {
    return &config_;
  }
  return id == "ft.experts" ? &experts_ : nullptr;
}

Status MoeHost::Allocate(uint32_t kind, uint64_t bytes, uint64_t align, void** out) {
  align = align == 0 ? 64 : std::max<uint64_t>(align, 64);
  if (out == nullptr || (align & (align - 1)) != 0 || align > 4096 || kind < FT_MEM_HOST ||
      kind > FT_MEM_DEVICE) {
    return InvalidArgument("memory: kind {} with alignment {} (want a power of two up to 4096)",
                           kind, align);
  }
  const bool is_device = kind == FT_MEM_DEVICE;
  const std::lock_guard lock(mutex_);
  uint64_t& held = is_device ? device_held_ : host_held_;
  const uint64_t limit = is_device ? options_.device_bytes : options_.host_bytes;
  if (bytes > limit - held) {
    return ResourceExhausted("{} bytes of {} memory are beyond the plan: it has {}, {} are taken",
                             bytes, is_device ? "device" : "host", limit, held);
  }
  void* memory = nullptr;
  if (is_device) {
    FT_ASSIGN_OR_RETURN(memory, options_.device->Allocate(bytes, align));
  } else {
    const uint64_t rounded = (std::max<uint64_t>(bytes, 1) + align - 1) & ~(align - 1);
    memory = std::aligned_alloc(align, rounded);
    if (memory == nullptr) {
      return ResourceExhausted("no host memory for {}", HumanBytes(bytes));
    }
    std::memset(memory, 0, rounded);
  }
  held += bytes;
  blocks_[memory] = {bytes, is_device};
  *out = memory;
  return Status();
}

void MoeHost::Free(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) {
    if (memory != nullptr) {
      FT_LOG(kError, "{}: freed memory that it does not have", options_.name);
    }
    return;
  }
  if (found->second.is_device) {
    device_held_ -= found->second.bytes;
    options_.device->Free(memory);
  } else {
    host_held_ -= found->second.bytes;
    std::free(memory);
  }
  blocks_.erase(found);
}

Result<const std::string*> MoeHost::Config(std::string_view key) const {
  for (const auto& [name, value] : options_.config) {
    if (name == key) {
      return &value;
    }
  }
  return NotFound("config {}: not set", key);
}

Status MoeHost::Read(const ft_expert_read* reads, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto layer_id = static_cast<int>(reads[i].layer_id);
    if (model_.LayerIndex(layer_id) < 0 || reads[i].dst == nullptr ||
        reads[i].expert_id >=
            static_cast<uint32_t>(model_.codec_of_layer(layer_id).kind().num_experts)) {
      return InvalidArgument("read: there is no expert {} in layer {}, or no destination",
                             reads[i].expert_id, reads[i].layer_id);
    }
  }
  if (options_.banks == nullptr) {
    return options_.source->Read({reads, count});
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto layer_id = static_cast<int>(reads[i].layer_id);
    std::memcpy(reads[i].dst, options_.banks->Find(layer_id, static_cast<int>(reads[i].expert_id)),
                model_.codec_of_layer(layer_id).expert_bytes());
  }
  return Status();
}

Status MoeHost::Compute(const ft_moe_compute& compute, ft_stream* stream) {
  if (model_.LayerIndex(static_cast<int>(compute.layer_id)) < 0 || compute.n_jobs > jobs_.size() ||
      compute.x == nullptr || compute.y == nullptr ||
      (compute.jobs == nullptr && compute.n_jobs != 0)) {
    return InvalidArgument("compute: layer {} with {} jobs, at most {}, and x, y and jobs there",
                           compute.layer_id, compute.n_jobs, jobs_.size());
  }
  if (stream == nullptr) {
    if (compute.on_device != 0 && options_.device->kind() != DeviceKind::kCpu) {
      return InvalidArgument("compute: weights on {} want a stream", options_.device->name());
    }
    return RunCompute(/*memory=*/nullptr, compute);
  }
  const MoeHostKernels::ComputeArgs args = {this, compute};
  static_assert(sizeof(args) <= kMaxKernelArgBytes);
  KernelLaunch launch;
  launch.kernel = MoeHostKernels::RunCompute;
  launch.args = &args;
  launch.arg_bytes = sizeof(args);
  launch.label = "experts";
  launch.cost_us = static_cast<double>(compute.n_jobs) *
                   static_cast<double>(
                       model_.codec_of_layer(static_cast<int>(compute.layer_id)).expert_bytes()) /
                   kSimBytesPerUs;
  return options_.device->Launch(reinterpret_cast<Stream*>(stream), launch);
}

Status MoeHost::RunCompute(const DeviceMemory* memory, const ft_moe_compute& compute) {
  const ExpertCodec& codec = model_.codec_of_layer(static_cast<int>(compute.layer_id));
  const ft_expert_job* jobs = compute.jobs;
  if (compute.on_device != 0 && memory != nullptr) {
    for (uint32_t i = 0; i < compute.n_jobs; ++i) {
      jobs_[i] = compute.jobs[i];
      jobs_[i].weights = memory->Resolve(jobs_[i].weights, codec.expert_bytes());
      if (jobs_[i].weights == nullptr) {
        return InvalidArgument("compute: job {} of layer {} has weights outside device memory", i,
                               compute.layer_id);
      }
    }
    jobs = jobs_.data();
  }
  ft_expert_mlp_args args = {};
  args.hdr = {sizeof(args), FT_TAG_EXPERT_ARGS, nullptr};
  args.mode = compute.mode;
  args.n_jobs = compute.n_jobs;
  args.jobs = jobs;
  args.x = compute.x;
  args.x_stride = compute.x_stride;
  args.y = compute.y;
  args.y_stride = compute.y_stride;
  args.scratch = scratch_;
  args.scratch_bytes = scratch_bytes_;
  args.exec = &exec_;
  return codec.Mlp(args);
}

Status MoeHost::SumRoutes(const SumRoutesArgs& args, ft_stream* stream) {
  if (args.num_tokens < 0 || args.ids == nullptr || args.y == nullptr || args.out == nullptr) {
    return InvalidArgument("sum_routes: {} tokens, and ids, y and out must be there",
                           args.num_tokens);
  }
  if (stream == nullptr) {
    RunSumRoutes(args);
    return Status();
  }
  const MoeHostKernels::SumArgs kernel_args = {this, args};
  static_assert(sizeof(kernel_args) <= kMaxKernelArgBytes);
  KernelLaunch launch;
  launch.kernel = MoeHostKernels::RunSum;
  launch.args = &kernel_args;
  launch.arg_bytes = sizeof(kernel_args);
  launch.label = "sum of routes";
  return options_.device->Launch(reinterpret_cast<Stream*>(stream), launch);
}

void MoeHost::RunSumRoutes(const SumRoutesArgs& args) const {
  const auto sum_range = [&args](uint32_t /*worker*/, uint64_t begin, uint64_t end) {
    for (auto token = static_cast<int64_t>(begin); token < static_cast<int64_t>(end); ++token) {
      float* out = args.out + token * args.out_stride;
      std::fill_n(out, args.hidden_dim, 0.0F);
      for (int64_t k = 0; k < args.top_k; ++k) {
        const int64_t route = token * args.top_k + k;
        if (args.ids[route] < 0) {
          continue;
        }
        const float* y = args.y + route * args.y_stride;
        for (int64_t i = 0; i < args.hidden_dim; ++i) {
          out[i] += y[i];
        }
      }
    }
  };
  options_.pool->ParallelFor(static_cast<uint64_t>(args.num_tokens), 4, sum_range);
}

uint64_t MoeHost::device_bytes_held() const {
  const std::lock_guard lock(mutex_);
  return device_held_;
}

uint64_t MoeHost::host_bytes_held() const {
  const std::lock_guard lock(mutex_);
  return host_held_;
}

}  // namespace ft
