// Model loader: a checkpoint folder to a Model that can run, checked in full before a weight is
// read. Chooses the MoE backend, the device and the budget of expert slots, and says why. It keeps
// no KV cache and runs nothing: that is the engine's, or eval's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/checkpoint/model_config.h"
#include "core/checkpoint/stop_ids.h"
#include "core/layers/weight_loader.h"
#include "core/models/model.h"
#include "core/moe/cache_budget.h"

namespace ft {

class MoeBackendRegistry;
class QuantizationRegistry;

/// `what` is valid during the call: "layer 3: self_attn", "experts of layer 3".
struct LoadProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  std::string_view what;
};

struct LoadOptions {
  std::string dir;                   ///< a checkpoint folder
  std::string device = "auto";       ///< auto | cpu | sim | sim:PRESET | sim:FILE | cuda:N
  std::string moe_backend = "auto";  ///< auto, or a component's name ("resident", "offload", …)
  ExpertCacheRequest expert_cache;   ///< for backends with slots
  int num_threads = 0;               ///< workers, the caller of Forward included; 0 = usable cores
  int64_t max_batch_tokens = 2048;   ///< most tokens of one Forward
  int64_t max_logit_rows = 64;       ///< most logit rows of one Forward, <= max_batch_tokens
  int max_sequences = 64;            ///< most sequences of one Forward
  uint64_t memory_limit_bytes = 0;   ///< for weights and slots; 0 = what the machine has free
  bool allow_io_uring = true;        ///< for reads of experts from disk
  const QuantizationRegistry* quantizations = nullptr;  ///< must outlive the model
  const MoeBackendRegistry* moe_backends = nullptr;     ///< must outlive the model
  /// Called on the loading thread, at most some hundred times. May be empty.
  std::function<void(const LoadProgress&)> progress;
};

/// One choice and its reason, for the log, /v1/config and `ft inspect`.
struct Choice {
  std::string what;   ///< "moe_backend"
  std::string value;  ///< "resident"
  std::string reason;
};

/// A model ready to run, and all that it leans on. Movable; destroys in the right order.
class LoadedModel {
 public:
  LoadedModel();
  LoadedModel(LoadedModel&&) noexcept;
  LoadedModel& operator=(LoadedModel&&) noexcept;
  ~LoadedModel();

  Model* model() const { return model_; }

  ThreadPool* pool() const { return pool_; }

  ModelConfig config;
  std::vector<StopId> stop_ids;    ///< of config.json and generation_config.json; the caller adds
                                   ///< the tokenizer's with CollectStopIds
  std::vector<FormatUse> formats;  ///< most bytes first
  std::vector<Choice> choices;
  uint64_t weight_bytes = 0;  ///< packed dense weights in memory
  uint64_t expert_bytes = 0;  ///< expert banks or slots in memory, by the backend's plan
  double load_seconds = 0;

  /// Counters of the MoE backend by name; empty without experts. Any thread.
  std::vector<std::pair<std::string, double>> MoeCounters() const;

 private:
  friend Result<LoadedModel> LoadModel(const LoadOptions& options);
  friend class ModelLoading;
  struct State;
  std::unique_ptr<State> state_;
  Model* model_ = nullptr;
  ThreadPool* pool_ = nullptr;
};

/// Errors: kNotFound when there is no such folder, kDataLoss when it has no config.json,
/// kUnimplemented when it is a file (GGUF).
Status CheckModelFolder(const std::string& dir);

/// Reads the headers, chooses the family, resolves every tensor's format, plans memory, and only
/// then reads weights.
/// Errors, all before a weight is read: kNotFound (no folder), kDataLoss (broken files, tensors
/// missing or of the wrong shape: the first names), kInvalidArgument (config values, options),
/// kUnimplemented (family, config key, format: the first offending names), kFailedPrecondition
/// (backend and device do not go together), kResourceExhausted (does not fit: with both numbers).
Result<LoadedModel> LoadModel(const LoadOptions& options);

}  // namespace ft
