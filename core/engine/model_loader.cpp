// The order of loading: headers and config, family, every tensor's format, device, backend, memory,
// and only then weights.
#include "core/engine/model_loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory_info.h"
#include "core/checkpoint/tensor_index.h"
#include "core/device/device.h"
#include "core/engine/unused_tensors.h"
#include "core/models/registry.h"
#include "core/moe/checkpoint_experts.h"
#include "core/moe/expert_bank.h"
#include "core/moe/moe_backend.h"

namespace ft {
namespace {

constexpr double kUsableShareOfMemory = 0.9;  // the rest is for the KV cache's tables and others

Status CheckOptions(const LoadOptions& options) {
  if (options.quantizations == nullptr || options.moe_backends == nullptr) {
    return Internal("LoadModel needs both registries");
  }
  if (options.max_batch_tokens < 1 || options.max_sequences < 1 || options.max_logit_rows < 1 ||
      options.num_threads < 0) {
    return InvalidArgument(
        "want at least one token, sequence and logit row per step, got {}, {}, {}",
        options.max_batch_tokens, options.max_sequences, options.max_logit_rows);
  }
  return {};
}

std::string Named(std::string_view backend) {
  return std::string(backend == "fused" ? "resident" : backend);
}

}  // namespace

// Members are destroyed last to first: what comes later leans on what comes before.
struct LoadedModel::State {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<TensorIndex> index;
  ModelRegistry families;
  std::unique_ptr<ModelBuilder> builder;
  WeightSummary summary;
  std::unique_ptr<Device> device;
  std::unique_ptr<CheckpointExperts> experts;
  const MoeBackendComponent* component = nullptr;
  MoeBackendOptions backend_options;
  MoeBackendPlan plan;
  std::unique_ptr<ExpertBanks> banks;
  std::unique_ptr<MoeBackend> backend;
  std::unique_ptr<Model> model;
};

LoadedModel::LoadedModel() = default;
LoadedModel::LoadedModel(LoadedModel&&) noexcept = default;
LoadedModel& LoadedModel::operator=(LoadedModel&&) noexcept = default;
LoadedModel::~LoadedModel() = default;

std::vector<std::pair<std::string, double>> LoadedModel::MoeCounters() const {
  if (state_ == nullptr || state_->backend == nullptr) {
    return {};
  }
  return state_->backend->counters().Named();
}

Status CheckModelFolder(const std::string& dir) {
  if (FileExists(dir)) {
    return Unimplemented("{}: is a file; ft reads folders with config.json and safetensors", dir);
  }
  if (!DirectoryExists(dir)) {
    return NotFound("{}: there is no such folder", dir);
  }
  if (!FileExists(JoinPath(dir, "config.json"))) {
    const auto files = ListFiles(dir);
    for (const std::string& name : files.ok() ? *files : std::vector<std::string>()) {
      if (name.ends_with(".gguf")) {
        return DataLoss("{}: has no config.json but {}: GGUF is not supported yet", dir, name);
      }
    }
    return DataLoss(
        "{}: the folder has no config.json: it is no model, or its download is not whole", dir);
  }
  return {};
}

// The steps of LoadModel, over one LoadedModel that is being made.
class ModelLoading {
 public:
  ModelLoading(const LoadOptions& options, LoadedModel* loaded, LoadedModel::State* state)
      : options_(options), loaded_(*loaded), state_(*state) {}

  // Everything that can be known without reading a weight.
  Status Check();
  Status Read();

 private:
  Status CheckWeights();
  Status ChooseBackend(uint64_t limit);
  std::string Numbers(uint64_t limit) const;
  Status PlanExperts(uint64_t limit);
  Result<uint64_t> BytesBesideSlots() const;
  Status ReadExperts();
  Status ReadDense();
  ModelBuildOptions BuildOptions() const;
  bool FitsWithBanks(uint64_t limit) const;
  void Progress(uint64_t bytes, std::string_view what);

  void Choose(std::string what, std::string value, std::string reason) {
    FT_LOG(kInfo, "{}: {} ({})", what, value, reason);
    loaded_.choices.push_back({std::move(what), std::move(value), std::move(reason)});
  }

  bool WantsSlots() const {
    const ExpertCacheRequest& request = options_.expert_cache;
    return request.num_slots || request.rate || request.mem_bytes;
  }

  uint64_t DenseBytes() const {
    return state_.summary.dense_packed_bytes + state_.builder->ScratchBytes(BuildOptions());
  }

  const LoadOptions& options_;
  LoadedModel& loaded_;
  LoadedModel::State& state_;
  uint64_t bytes_done_ = 0;
  uint64_t bytes_total_ = 0;
};

ModelBuildOptions ModelLoading::BuildOptions() const {
  ModelBuildOptions build;
  build.pool = state_.pool.get();
  build.moe_backend = state_.backend.get();
  build.max_tokens = options_.max_batch_tokens;
  build.max_logit_rows = std::min(options_.max_logit_rows, options_.max_batch_tokens);
  build.max_sequences = options_.max_sequences;
  return build;
}

Status ModelLoading::CheckWeights() {
  WeightLoader loader({.index = state_.index.get(), .formats = options_.quantizations});
  state_.builder->CheckWeights(&loader);
  const Status status = loader.status();
  if (!status.ok()) {
    return status.WithContext(options_.dir);
  }
  state_.summary = loader.TakeSummary();
  loaded_.formats = state_.summary.formats;
  const std::vector<TensorSet> unused =
      UnusedTensors(*state_.index, state_.summary, state_.builder->info());
  for (const TensorSet& set : unused) {
    if (set.name == "unknown") {
      FT_LOG(kWarning, "{}: {} tensors belong to no part of this model that ft knows: {}, …",
             options_.dir, set.num_tensors, set.example);
    }
    Choose("unused tensors", fmt::format("{} of {}", set.num_tensors, set.name),
           fmt::format("{}, as {}", HumanBytes(set.num_bytes), set.example));
  }
  return {};
}

Status ModelLoading::Check() {
  FT_RETURN_IF_ERROR(CheckOptions(options_));
  FT_RETURN_IF_ERROR(CheckModelFolder(options_.dir));
  FT_ASSIGN_OR_RETURN(loaded_.config, LoadModelConfig(options_.dir));
  FT_ASSIGN_OR_RETURN(TensorIndex index, TensorIndex::Open(options_.dir));
  state_.index = std::make_unique<TensorIndex>(std::move(index));
  RegisterBuiltinModels(&state_.families);
  FT_ASSIGN_OR_RETURN(const ModelFamily* family, state_.families.Find(loaded_.config));
  FT_ASSIGN_OR_RETURN(state_.builder, family->read_config(loaded_.config));
  FT_RETURN_IF_ERROR(CheckWeights());
  loaded_.stop_ids = CollectStopIds(loaded_.config, {});
  state_.pool = std::make_unique<ThreadPool>(options_.num_threads);
  FT_ASSIGN_OR_RETURN(state_.device, MakeDevice(options_.device));
  Choose("device", state_.device->name(),
         options_.device == "auto" ? "auto: this ft has no accelerator devices yet" : "asked for");

  uint64_t limit = options_.memory_limit_bytes;
  if (limit == 0) {
    limit = static_cast<uint64_t>(static_cast<double>(ReadMemoryInfo().available_bytes) *
                                  kUsableShareOfMemory);
  }
  if (limit > 0 && DenseBytes() > limit) {
    return ResourceExhausted("{}: dense weights and working memory take {}, there is {}",
                             options_.dir, HumanBytes(DenseBytes()), HumanBytes(limit));
  }
  loaded_.weight_bytes = state_.summary.dense_packed_bytes;
  bytes_total_ = state_.summary.dense_stored_bytes;
  if (state_.builder->moe_layers().empty()) {
    Choose("moe_backend", "none", "the model has no experts: there is nothing to place");
    return {};
  }
  return PlanExperts(limit);
}

bool ModelLoading::FitsWithBanks(uint64_t limit) const {
  return limit == 0 || state_.experts->model().total_expert_bytes() +
                               state_.experts->staging_bytes() + DenseBytes() <=
                           limit;
}

// What the backend takes beside its slots: by its plan for one slot of each kind.
Result<uint64_t> ModelLoading::BytesBesideSlots() const {
  const MoeModel& experts = state_.experts->model();
  MoeBackendOptions one_each = state_.backend_options;
  for (int kind = 0; kind < experts.num_kinds(); ++kind) {
    one_each.bytes_by_kind.push_back(experts.kind(kind).expert_bytes());
  }
  FT_ASSIGN_OR_RETURN(const MoeBackendPlan plan,
                      MoeBackend::Plan(*state_.component, one_each, false));
  return plan.staging_bytes + plan.host_bytes + plan.core_bytes;
}

std::string ModelLoading::Numbers(uint64_t limit) const {
  return fmt::format("{} of experts, {} of other weights, {} of memory",
                     HumanBytes(state_.experts->model().total_expert_bytes()),
                     HumanBytes(DenseBytes()),
                     limit == 0 ? "an unknown amount" : HumanBytes(limit));
}

Status ModelLoading::ChooseBackend(uint64_t limit) {
  std::string name = Named(options_.moe_backend);
  std::string reason = "asked for";
  if (name == "auto") {
    name = FitsWithBanks(limit) && !WantsSlots() ? "resident" : "offload";
    reason = WantsSlots() ? "a size of the expert cache was given" : Numbers(limit);
  }
  FT_ASSIGN_OR_RETURN(state_.component, options_.moe_backends->Get(name));
  Choose("moe_backend", name, reason);
  return {};
}

Status ModelLoading::PlanExperts(uint64_t limit) {
  CheckpointExpertsOptions source;
  source.pool = state_.pool.get();
  source.allow_io_uring = options_.allow_io_uring;
  FT_ASSIGN_OR_RETURN(state_.experts,
                      CheckpointExperts::Create(state_.index.get(), options_.quantizations,
                                                state_.builder->moe_layers(), source));
  const MoeModel& experts = state_.experts->model();
  FT_RETURN_IF_ERROR(ChooseBackend(limit));
  std::vector<ExpertKindCount> kinds;
  kinds.reserve(static_cast<size_t>(experts.num_kinds()));
  for (int kind = 0; kind < experts.num_kinds(); ++kind) {
    kinds.push_back({experts.num_experts_of_kind(kind), experts.kind(kind).expert_bytes()});
  }
  const bool is_device_apart = state_.device->kind() != DeviceKind::kCpu;
  const uint64_t free_bytes = limit == 0 ? UINT64_MAX : limit - DenseBytes();
  MoeBackendOptions& backend = state_.backend_options;
  backend.device = state_.device.get();
  backend.source = state_.experts.get();
  backend.pool = state_.pool.get();
  backend.max_tokens = options_.max_batch_tokens;
  uint64_t room = state_.device->total_bytes();
  if (!is_device_apart) {
    FT_ASSIGN_OR_RETURN(const uint64_t beside_slots, BytesBesideSlots());
    room = free_bytes - std::min(free_bytes, beside_slots);
    room -= room / 64;  // tables that grow with the slots
  }
  FT_ASSIGN_OR_RETURN(const ExpertCacheBudget budget,
                      ResolveExpertCache(options_.expert_cache, kinds, room));
  backend.bytes_by_kind = budget.bytes_by_kind;
  // Beside a device with its own memory, banks in host memory serve misses where they fit.
  const bool would_use_banks = is_device_apart && FitsWithBanks(limit);
  FT_ASSIGN_OR_RETURN(state_.plan, MoeBackend::Plan(*state_.component, backend, would_use_banks));
  if (WantsSlots() && state_.plan.num_slots == 0) {
    return InvalidArgument(
        "moe backend {} keeps all experts in memory: a size of the expert cache (--moe-cache-*) "
        "has "
        "no meaning with it; leave it out, or use --moe-backend offload",
        state_.component->name);
  }
  const bool has_banks = state_.plan.needs_banks || would_use_banks;
  const uint64_t bank_bytes = has_banks ? experts.total_expert_bytes() : 0;
  const uint64_t slots_in_host = is_device_apart ? 0 : state_.plan.slot_bytes;
  const uint64_t needed = DenseBytes() + bank_bytes + slots_in_host + state_.plan.staging_bytes +
                          state_.plan.host_bytes + state_.plan.core_bytes;
  if (limit > 0 && needed > limit) {
    return ResourceExhausted(
        "{}: with moe backend {} it takes {} ({}); use --moe-backend offload, or fewer slots "
        "(--moe-cache-mem)",
        options_.dir, state_.component->name, HumanBytes(needed), Numbers(limit));
  }
  if (state_.plan.num_slots > 0) {
    Choose("expert_cache",
           fmt::format("{} slots, {}", budget.num_slots, HumanBytes(budget.num_bytes)),
           fmt::format("misses are read from {}", has_banks ? "memory" : "the checkpoint"));
  }
  state_.plan.needs_banks = has_banks;
  loaded_.expert_bytes = bank_bytes + state_.plan.slot_bytes;
  bytes_total_ += bank_bytes;
  return {};
}

void ModelLoading::Progress(uint64_t bytes, std::string_view what) {
  bytes_done_ = std::min(bytes_done_ + bytes, bytes_total_);
  if (options_.progress) {
    options_.progress({bytes_done_, bytes_total_, what});
  }
}

Status ModelLoading::ReadExperts() {
  if (state_.component == nullptr) {
    return {};
  }
  if (state_.plan.needs_banks) {
    uint64_t before = 0;
    FT_ASSIGN_OR_RETURN(state_.banks,
                        ExpertBanks::Load(state_.experts.get(), [&](uint64_t done, uint64_t) {
                          Progress(done - before, "experts");
                          before = done;
                          return true;
                        }));
    state_.backend_options.banks = state_.banks.get();
  }
  FT_ASSIGN_OR_RETURN(state_.backend,
                      MoeBackend::Create(*state_.component, state_.backend_options));
  return {};
}

Status ModelLoading::ReadDense() {
  WeightLoader loader(
      {.index = state_.index.get(),
       .formats = options_.quantizations,
       .pass = WeightPass::kRead,
       .progress = [this](uint64_t bytes, std::string_view name) { Progress(bytes, name); }});
  FT_ASSIGN_OR_RETURN(state_.model, state_.builder->Build(&loader, BuildOptions()));
  return {};
}

Status ModelLoading::Read() {
  FT_RETURN_IF_ERROR(ReadExperts());
  return ReadDense();
}

Result<LoadedModel> LoadModel(const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  LoadedModel loaded;
  loaded.state_ = std::make_unique<LoadedModel::State>();
  ModelLoading loading(options, &loaded, loaded.state_.get());
  FT_RETURN_IF_ERROR(loading.Check());
  FT_RETURN_IF_ERROR(loading.Read());
  loaded.model_ = loaded.state_->model.get();
  loaded.pool_ = loaded.state_->pool.get();
  loaded.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return loaded;
}

}  // namespace ft
