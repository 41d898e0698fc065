#include "core/moe/moe_model.h"

#include "core/base/check.h"

namespace ft {

Result<int> MoeModel::FindOrAddKind(const ExpertKind& kind,
                                    const Quantization* gate_up,
                                    const Quantization* down) {
  for (int index = 0; index < num_kinds(); ++index) {
    const ExpertCodec& codec = *codecs_[static_cast<size_t>(index)];
    if (codec.kind() == kind && &codec.gate_up() == gate_up && &codec.down() == down) {
      return index;
    }
  }
  FT_ASSIGN_OR_RETURN(ExpertCodec codec, ExpertCodec::Create(kind, gate_up, down));
  codecs_.push_back(std::make_unique<ExpertCodec>(codec));
  abi_kinds_.push_back(&codecs_.back()->abi());
  expert_bytes_.push_back(codecs_.back()->expert_bytes());
  return num_kinds() - 1;
}

void MoeModel::AddLayer(int layer_id, int kind) {
  FT_CHECK(layer_id >= static_cast<int>(index_of_layer_.size()) && kind >= 0 && kind < num_kinds());
  index_of_layer_.resize(static_cast<size_t>(layer_id) + 1, -1);
  index_of_layer_.back() = static_cast<int>(layers_.size());
  layers_.push_back({static_cast<uint32_t>(layer_id), static_cast<uint32_t>(kind)});
}

int MoeModel::LayerIndex(int layer_id) const {
  return layer_id >= 0 && static_cast<size_t>(layer_id) < index_of_layer_.size()
             ? index_of_layer_[static_cast<size_t>(layer_id)]
             : -1;
}

const ExpertCodec& MoeModel::codec_of_layer(int layer_id) const {
  const int index = LayerIndex(layer_id);
  FT_CHECK(index >= 0);
  return *codecs_[layers_[static_cast<size_t>(index)].kind];
}

int MoeModel::num_layers_of_kind(int index) const {
  int count = 0;
  for (const ft_moe_layer& layer : layers_) {
    count += layer.kind == static_cast<uint32_t>(index) ? 1 : 0;
  }
  return count;
}

int64_t MoeModel::num_experts_of_kind(int index) const {
  return int64_t{num_layers_of_kind(index)} * kind(index).kind().num_experts;
}

uint64_t MoeModel::total_expert_bytes() const {
  uint64_t bytes = 0;
  for (int index = 0; index < num_kinds(); ++index) {
    bytes += static_cast<uint64_t>(num_experts_of_kind(index)) * kind(index).expert_bytes();
  }
  return bytes;
}

ft_moe_model MoeModel::Abi(int64_t max_tokens) const {
  ft_moe_model model = {};
  model.hdr = {sizeof(model), FT_TAG_MOE_MODEL, nullptr};
  model.n_kinds = static_cast<uint32_t>(codecs_.size());
  model.n_layers = static_cast<uint32_t>(layers_.size());
  model.kinds = abi_kinds_.data();
  model.expert_bytes = expert_bytes_.data();
  model.layers = layers_.data();
  model.max_tokens = max_tokens;
  return model;
}

}  // namespace ft
