// ModelRegistry: the model families of this build, by what config.json calls them. Every folder
// below core/models with a CMakeLists.txt is one; CMake writes the list (builtin_models.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/checkpoint/model_config.h"
#include "core/layers/weight_loader.h"
#include "core/models/model.h"
#include "core/moe/expert_places.h"
#include "core/moe/moe_backend.h"

namespace ft {

/// What a model is built with. All of it must outlive the model.
struct ModelBuildOptions {
  ThreadPool* pool = nullptr;
  MoeBackend* moe_backend = nullptr;  ///< null for models without experts
  int64_t max_tokens = 0;             ///< of one Forward
  int64_t max_logit_rows = 0;
  int max_sequences = 0;
};

/// A family's reading of one config.json: the first step of loading. Reads no weight by itself.
class ModelBuilder {
 public:
  virtual ~ModelBuilder() = default;

  virtual const ModelInfo& info() const = 0;

  /// The layers with routed experts, in order; empty for dense models.
  virtual const std::vector<MoeLayerSpec>& moe_layers() const = 0;

  /// Working memory that Build takes, in bytes.
  virtual uint64_t ScratchBytes(const ModelBuildOptions& options) const = 0;

  /// Check pass: names every weight to `loader`, which collects what is wrong.
  virtual void CheckWeights(WeightLoader* loader) const = 0;

  /// Read pass. Errors: those of `loader`.
  virtual Result<std::unique_ptr<Model>> Build(WeightLoader* loader,
                                               const ModelBuildOptions& options) const = 0;
};

struct ModelFamily {
  std::string name;                        ///< the folder: "qwen3_moe"
  std::vector<std::string> architectures;  ///< "Qwen3MoeForCausalLM"
  std::vector<std::string> model_types;    ///< "qwen3_moe"
  /// Errors: kInvalidArgument for values of the wrong kind, kUnimplemented for keys or values that
  /// change numbers and are not understood, by name.
  Result<std::unique_ptr<ModelBuilder>> (*read_config)(const ModelConfig& config) = nullptr;
};

class ModelRegistry {
 public:
  /// A name, architecture or model type that is there already is a check failure.
  void Add(ModelFamily family);

  /// By architecture; where config.json has none, by model type.
  /// Errors: kUnimplemented with both names and the list of what there is.
  Result<const ModelFamily*> Find(const ModelConfig& config) const;

  const std::vector<ModelFamily>& families() const { return families_; }

 private:
  std::vector<ModelFamily> families_;
};

/// Adds every family folder of this build.
void RegisterBuiltinModels(ModelRegistry* registry);

}  // namespace ft
