// MoeModel: the MoE layers of one model and the kinds of expert they have, as backends see them.
// Data only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ft/plugin/moe_backend.h"

#include "core/base/status.h"
#include "core/moe/expert_codec.h"

namespace ft {

/// Layers whose experts have the same shape, activation and formats share a kind. Move only: the
/// plugin's view points into it.
class MoeModel {
 public:
  MoeModel() = default;
  MoeModel(MoeModel&&) = default;
  MoeModel& operator=(MoeModel&&) = default;

  /// The kind's index, a new one or one there already. Errors: as ExpertCodec::Create.
  Result<int> FindOrAddKind(const ExpertKind& kind,
                            const Quantization* gate_up,
                            const Quantization* down);

  /// Requires: `layer_id` ascends, `kind` is an index.
  void AddLayer(int layer_id, int kind);

  int num_kinds() const { return static_cast<int>(codecs_.size()); }

  const ExpertCodec& kind(int index) const { return *codecs_[static_cast<size_t>(index)]; }

  const std::vector<ft_moe_layer>& layers() const { return layers_; }

  /// Index into layers(), or -1.
  int LayerIndex(int layer_id) const;

  /// The kind of a MoE layer. Requires: LayerIndex(layer_id) >= 0.
  const ExpertCodec& codec_of_layer(int layer_id) const;

  /// MoE layers of kind `index`.
  int num_layers_of_kind(int index) const;

  /// All experts of kind `index`, over its layers.
  int64_t num_experts_of_kind(int index) const;

  /// All experts, packed.
  uint64_t total_expert_bytes() const;

  /// For plugins; points into this object. `max_tokens`: most tokens of one forward.
  ft_moe_model Abi(int64_t max_tokens) const;

 private:
  std::vector<std::unique_ptr<ExpertCodec>> codecs_;
  std::vector<const ft_expert_kind*> abi_kinds_;
  std::vector<uint64_t> expert_bytes_;
  std::vector<ft_moe_layer> layers_;
  std::vector<int> index_of_layer_;  // [largest layer_id + 1]
};

}  // namespace ft
