// mixtral: every layer has routed experts; renormalised router; one window for all layers or none.
#include "core/models/mixtral/config.h"

#include "core/models/decoder_config.h"

namespace ft::models::mixtral {
namespace {

Status ReadExperts(ConfigReader* reader, DecoderConfig* config) {
  FT_ASSIGN_OR_RETURN(const int64_t num_experts, reader->DimOr("num_local_experts", 8));
  FT_ASSIGN_OR_RETURN(const int64_t top_k, reader->DimOr("num_experts_per_tok", 2));
  config->router.kind = RouterKind::kSoftmaxTopK;
  config->router.num_experts = static_cast<int>(num_experts);
  config->router.top_k = static_cast<int>(top_k);
  config->router.has_renormalization = true;
  config->mlp_name = "block_sparse_moe";
  ExpertsConfig experts;
  experts.kind.hidden_dim = config->info.hidden_dim;
  experts.kind.intermediate_dim = config->layers.front().mlp.intermediate_dim;
  experts.kind.num_experts = static_cast<int>(num_experts);
  experts.kind.top_k = static_cast<int>(top_k);
  experts.kind.activation = ExpertActivation(config->layers.front().mlp.activation);
  experts.names.gate = "w1";
  experts.names.up = "w3";
  experts.names.down = "w2";
  for (size_t i = 0; i < config->layers.size(); ++i) {
    SetMoeLayer(experts, i, config);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ModelBuilder>> ReadConfig(const ModelConfig& model) {
  ConfigReader reader(model.text(), model.text_where());
  const DecoderDefaults defaults = {.family = "mixtral",
                                    .num_kv_heads = 8,
                                    .max_positions = 131072,
                                    .rope_theta = 1e6,
                                    .norm_epsilon = 1e-5};
  FT_ASSIGN_OR_RETURN(DecoderConfig config, ReadDecoderConfig(model, defaults, &reader));
  FT_RETURN_IF_ERROR(ReadExperts(&reader, &config));
  FT_RETURN_IF_ERROR(reader.ExpectBool("attention_bias", false));
  reader.Ignore({"router_jitter_noise", "use_sliding_window"});  // training only; not read here
  const bool has_window = reader.Has("sliding_window");
  FT_ASSIGN_OR_RETURN(const int64_t window, reader.DimOr("sliding_window", 1));
  FT_ASSIGN_OR_RETURN(
      const std::vector<int64_t> windows,
      ReadLayerWindows(&reader, config.info.num_layers, has_window ? window : 0, 0));
  return FinishDecoder(std::move(config), windows, reader);
}

}  // namespace ft::models::mixtral
