// WeightLoader: how a family asks for its weights, by name and extent. A family's code for that
// runs twice: the first pass resolves names, formats and shapes and reads nothing, so that every
// fault is known before a weight is read; the second reads and packs. It collects failures instead
// of returning each, so that the code that names weights is a plain list.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/tensor_index.h"
#include "core/layers/aligned_bytes.h"
#include "core/layers/embedding.h"
#include "core/layers/linear.h"
#include "core/moe/expert_places.h"
#include "core/quant/quantization.h"

namespace ft {

/// How many matrices and bytes a weight format has in a checkpoint.
struct FormatUse {
  std::string format;  ///< "bf16", "nvfp4", …
  std::string origin;  ///< plugin that computes with it, or "built in"
  int64_t num_matrices = 0;
  uint64_t stored_bytes = 0;  ///< in the checkpoint
};

enum class WeightPass {
  kCheck,  ///< resolve and count
  kRead,   ///< read and pack
};

/// What a model's weights are made of, by the check pass.
struct WeightSummary {
  std::vector<FormatUse> formats;           ///< matrices, routed experts too; most bytes first
  uint64_t dense_stored_bytes = 0;          ///< all but routed experts
  uint64_t expert_stored_bytes = 0;         ///< routed experts
  uint64_t dense_packed_bytes = 0;          ///< memory that the read pass takes
  std::set<std::string, std::less<>> used;  ///< names of tensors; of experts: not listed
  std::vector<std::string> expert_prefixes;
  std::set<std::string, std::less<>> known_unused;  ///< input scales and the like
};

struct WeightLoaderOptions {
  const TensorIndex* index = nullptr;
  const QuantizationRegistry* formats = nullptr;
  WeightPass pass = WeightPass::kCheck;
  /// Read pass: called after each tensor with its stored bytes and name. May be empty.
  std::function<void(uint64_t stored_bytes, std::string_view name)> progress = {};
};

struct MatrixExtent {
  int64_t rows = 0;  ///< outputs
  int64_t cols = 0;  ///< inputs
};

class WeightLoader {
 public:
  /// Everything in `options` must outlive what was loaded.
  explicit WeightLoader(WeightLoaderOptions options);

  /// The matrix stored under `name` (+ ".weight", or a format's suffixes), without a bias.
  Linear Matrix(const std::string& name, MatrixExtent extent);
  /// The same with `name`.bias.
  Linear MatrixWithBias(const std::string& name, MatrixExtent extent);
  /// `name` is the whole tensor name. [count] as f32.
  std::vector<float> Vector(const std::string& name, int64_t count);
  /// `name` as for Matrix.
  Embedding Table(const std::string& name, MatrixExtent extent);
  /// Check pass: finds the layer's experts. Read pass: nothing, backends bring them.
  void Experts(const MoeLayerSpec& spec);

  /// Records a failure; the first few go into status().
  void Fail(const Status& status);

  /// Ok, or the first failure's code and the first few messages.
  Status status() const;

  /// Sorts what was counted and hands it out.
  WeightSummary TakeSummary();

 private:
  struct Resolved {
    const Quantization* format = nullptr;
    ft_match match = {};
    std::vector<const TensorInfo*> parts;
    uint64_t stored_bytes = 0;  // of parts not asked for before
    bool is_counted = false;    // some were not
  };

  bool Resolve(const std::string& name, MatrixExtent extent, Resolved* out);
  Result<AlignedBytes> ReadTensor(const TensorInfo& tensor) const;
  Status Pack(const Resolved& resolved, Linear* linear);
  void Count(const Quantization& format, int64_t num_matrices, uint64_t stored_bytes);
  void Report(uint64_t stored_bytes, std::string_view name) const;

  WeightLoaderOptions options_;
  WeightSummary summary_;
  StatusCode first_code_ = StatusCode::kOk;
  std::vector<std::string> messages_;
  int64_t num_failures_ = 0;
};

}  // namespace ft
