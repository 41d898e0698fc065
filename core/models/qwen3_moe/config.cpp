// qwen3_moe: routed experts on the layers that two keys leave over, per-head norms, one window for
// all layers.
#include "core/models/qwen3_moe/config.h"

#include <set>

#include "core/base/errors.h"
#include "core/models/decoder_config.h"

namespace ft::models::qwen3_moe {
namespace {

constexpr int64_t kMaxExperts = 65'536;  // far above any model

// Both spellings; 0 means that all layers are dense.
Result<int64_t> ReadNumExperts(ConfigReader* reader) {
  FT_ASSIGN_OR_RETURN(const int64_t by_old, reader->IntOr("num_experts", -1));
  FT_ASSIGN_OR_RETURN(const int64_t by_new, reader->IntOr("num_local_experts", by_old));
  const int64_t num_experts = by_new < 0 ? 128 : by_new;
  if ((by_old >= 0 && by_old != by_new) || num_experts > kMaxExperts) {
    return InvalidArgument("{}: num_experts {} and num_local_experts {}", reader->where(), by_old,
                           by_new);
  }
  return num_experts;
}

Status ReadExperts(ConfigReader* reader, DecoderConfig* config) {
  FT_ASSIGN_OR_RETURN(const int64_t num_experts, ReadNumExperts(reader));
  FT_ASSIGN_OR_RETURN(const int64_t top_k, reader->DimOr("num_experts_per_tok", 8));
  FT_ASSIGN_OR_RETURN(const int64_t intermediate_dim, reader->DimOr("moe_intermediate_size", 768));
  FT_ASSIGN_OR_RETURN(const bool is_renormalized, reader->BoolOr("norm_topk_prob", false));
  FT_ASSIGN_OR_RETURN(const int64_t sparse_step, reader->DimOr("decoder_sparse_step", 1));
  FT_ASSIGN_OR_RETURN(const std::vector<int64_t> dense_layers,
                      reader->IntListOrEmpty("mlp_only_layers"));
  config->router.kind = RouterKind::kSoftmaxTopK;
  config->router.num_experts = static_cast<int>(num_experts);
  config->router.top_k = static_cast<int>(top_k);
  config->router.has_renormalization = is_renormalized;
  ExpertsConfig experts;
  experts.kind.hidden_dim = config->info.hidden_dim;
  experts.kind.intermediate_dim = intermediate_dim;
  experts.kind.num_experts = static_cast<int>(num_experts);
  experts.kind.top_k = static_cast<int>(top_k);
  experts.kind.activation = ExpertActivation(config->layers.front().mlp.activation);
  const std::set<int64_t> listed(dense_layers.begin(), dense_layers.end());
  for (size_t i = 0; i < config->layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    if (num_experts > 0 && listed.count(layer) == 0 && (layer + 1) % sparse_step == 0) {
      SetMoeLayer(experts, i, config);
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ModelBuilder>> ReadConfig(const ModelConfig& model) {
  ConfigReader reader(model.text(), model.text_where());
  const DecoderDefaults defaults = {
      .family = "qwen3_moe", .num_kv_heads = 4, .max_positions = 32768};
  FT_ASSIGN_OR_RETURN(DecoderConfig config, ReadDecoderConfig(model, defaults, &reader));
  FT_ASSIGN_OR_RETURN(const bool has_bias, reader.BoolOr("attention_bias", false));
  for (DecoderLayerConfig& layer : config.layers) {
    layer.attention.has_qkv_bias = has_bias;
    layer.attention.has_output_bias = has_bias;
    layer.attention.has_qk_norm = true;
  }
  FT_RETURN_IF_ERROR(ReadExperts(&reader, &config));
  FT_ASSIGN_OR_RETURN(const bool has_window, reader.BoolOr("use_sliding_window", false));
  FT_ASSIGN_OR_RETURN(const int64_t window, ReadWindow(&reader, has_window, 4096));
  reader.Ignore({"max_window_layers"});  // not read by this family
  FT_ASSIGN_OR_RETURN(const std::vector<int64_t> windows,
                      ReadLayerWindows(&reader, config.info.num_layers, window, 0));
  return FinishDecoder(std::move(config), windows, reader);
}

}  // namespace ft::models::qwen3_moe
