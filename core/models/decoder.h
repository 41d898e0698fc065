// Decoder: the plain decoder-only transformer that several families share: norm, attention, norm,
// dense or routed feed-forward, each added to one residual stream. A family describes itself with a
// DecoderConfig; one that differs in more than its description writes its own model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/layers/attention.h"
#include "core/layers/mlp.h"
#include "core/layers/rotary.h"
#include "core/models/registry.h"
#include "core/moe/moe_layer.h"

namespace ft {

struct DecoderLayerConfig {
  AttentionConfig attention;
  int moe_index = -1;  ///< into DecoderConfig::moe_layers; -1: dense
  MlpConfig mlp;       ///< where dense
};

struct DecoderConfig {
  ModelInfo info;
  float norm_epsilon = 0;
  bool is_tied = false;  ///< the output matrix is the embedding table
  std::vector<Rotary> rotaries;
  std::vector<DecoderLayerConfig> layers;
  std::vector<MoeLayerSpec> moe_layers;
  RouterOptions router;          ///< of all MoE layers
  std::string mlp_name = "mlp";  ///< dense and routed nets: model.layers.N.<mlp_name>
};

/// Fills info.cache_groups and each layer's place in them: layers of one window share a group.
void AssignCacheGroups(DecoderConfig* config);

/// The builder of a Decoder.
std::unique_ptr<ModelBuilder> MakeDecoderBuilder(DecoderConfig config);

}  // namespace ft
