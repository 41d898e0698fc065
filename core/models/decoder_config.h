// What the config.json files of plain decoder families have in common, read into a DecoderConfig.
// Each family gives its defaults and adds what is its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/model_config.h"
#include "core/models/decoder.h"

namespace ft {

/// Where a family's class differs when a key is absent.
struct DecoderDefaults {
  std::string family;
  int64_t num_kv_heads = 0;  ///< 0: as many as heads
  int64_t head_dim = 0;      ///< 0: hidden_dim / heads
  int64_t max_positions = 0;
  double rope_theta = 10000.0;
  double norm_epsilon = 1e-6;
};

/// Sizes, norms, rope, activation and tying; every layer dense and without a window.
/// Errors: kInvalidArgument for absent, wrong or impossible numbers, kUnimplemented for values that
/// change numbers and are not understood.
Result<DecoderConfig> ReadDecoderConfig(const ModelConfig& model,
                                        const DecoderDefaults& defaults,
                                        ConfigReader* reader);

/// Routed experts as families spell them; which layers have them is the caller's.
struct ExpertsConfig {
  ExpertKind kind;
  ExpertNames names;  ///< `prefix` is set per layer
};

/// Makes layer `index` a MoE layer.
void SetMoeLayer(const ExpertsConfig& experts, size_t index, DecoderConfig* config);

/// `hidden_act` as an expert's activation (FT_ACT_*).
uint32_t ExpertActivation(ops::Activation activation);

/// `sliding_window` where `is_on`, else 0. Absent means `otherwise`, null no window.
Result<int64_t> ReadWindow(ConfigReader* reader, bool is_on, int64_t otherwise);

/// The window of each layer ([layers], 0 = none) by `layer_types`, or where that is absent by
/// `window` on the layers from `first` on.
/// Errors: kInvalidArgument for a list of another length; kUnimplemented for another kind of layer,
/// or a sliding one where `window` is 0.
Result<std::vector<int64_t>> ReadLayerWindows(ConfigReader* reader,
                                              int64_t num_layers,
                                              int64_t window,
                                              int64_t first);

/// Sets the windows, checks that every key was understood, assigns cache groups and counts layers.
Result<std::unique_ptr<ModelBuilder>> FinishDecoder(DecoderConfig config,
                                                    const std::vector<int64_t>& windows,
                                                    const ConfigReader& reader);

}  // namespace ft
