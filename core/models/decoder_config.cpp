// Reading of the keys that plain decoders share. Source: ../shared/reference/models.md §0-4.
#include "core/models/decoder_config.h"

#include <cmath>
#include <utility>

#include "core/base/errors.h"

namespace ft {
namespace {

// Far above any model, far below what a hostile file could make us allocate.
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxExtent = int64_t{1} << 24;

struct Sizes {
  int64_t hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
};

// null means "as many as heads"; absent means the class default.
Result<int64_t> ReadKvHeads(ConfigReader* reader, int64_t heads, int64_t otherwise) {
  const json::Value* raw = reader->Raw("num_key_value_heads");
  if (raw != nullptr && raw->is_null()) {
    return heads;
  }
  return reader->DimOr("num_key_value_heads", otherwise == 0 ? heads : otherwise);
}

Result<Sizes> ReadSizes(const DecoderDefaults& defaults, ConfigReader* reader) {
  Sizes sizes;
  FT_ASSIGN_OR_RETURN(sizes.hidden, reader->Dim("hidden_size"));
  FT_ASSIGN_OR_RETURN(sizes.intermediate, reader->Dim("intermediate_size"));
  FT_ASSIGN_OR_RETURN(sizes.layers, reader->Dim("num_hidden_layers"));
  FT_ASSIGN_OR_RETURN(sizes.heads, reader->Dim("num_attention_heads"));
  FT_ASSIGN_OR_RETURN(sizes.kv_heads, ReadKvHeads(reader, sizes.heads, defaults.num_kv_heads));
  const int64_t otherwise = defaults.head_dim == 0 ? sizes.hidden / sizes.heads : defaults.head_dim;
  FT_ASSIGN_OR_RETURN(sizes.head_dim, reader->DimOr("head_dim", otherwise));
  if (sizes.layers > kMaxLayers || sizes.hidden > kMaxExtent || sizes.intermediate > kMaxExtent ||
      sizes.heads > kMaxExtent || sizes.head_dim > kMaxExtent) {
    return InvalidArgument("{}: sizes beyond any model: {} layers, hidden_size {}, {} heads",
                           reader->where(), sizes.layers, sizes.hidden, sizes.heads);
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    return InvalidArgument("{}: num_attention_heads {} is no multiple of num_key_value_heads {}",
                           reader->where(), sizes.heads, sizes.kv_heads);
  }
  if (sizes.head_dim < 1) {
    return InvalidArgument("{}: hidden_size {} over {} heads leaves no head_dim", reader->where(),
                           sizes.hidden, sizes.heads);
  }
  return sizes;
}

Result<Rotary> ReadRotary(const DecoderDefaults& defaults,
                          int64_t head_dim,
                          int64_t max_positions,
                          ConfigReader* reader) {
  FT_ASSIGN_OR_RETURN(RopeConfig rope,
                      ReadRopeConfig(reader, {.default_theta = defaults.rope_theta}));
  if (reader->Has("original_max_position_embeddings")) {
    FT_ASSIGN_OR_RETURN(const int64_t original, reader->Dim("original_max_position_embeddings"));
    if (!rope.original_max_positions) {
      rope.original_max_positions = original;
    }
  }
  const auto rotated =
      static_cast<int64_t>(static_cast<double>(head_dim) * rope.partial_rotary_factor);
  return Rotary::Create(rope, rotated, max_positions);
}

}  // namespace

Result<DecoderConfig> ReadDecoderConfig(const ModelConfig& model,
                                        const DecoderDefaults& defaults,
                                        ConfigReader* reader) {
  DecoderConfig config;
  FT_ASSIGN_OR_RETURN(const Sizes sizes, ReadSizes(defaults, reader));
  config.info.family = defaults.family;
  config.info.num_layers = static_cast<int>(sizes.layers);
  config.info.hidden_dim = sizes.hidden;
  FT_ASSIGN_OR_RETURN(config.info.vocab_size, reader->Dim("vocab_size"));
  FT_ASSIGN_OR_RETURN(config.info.max_positions,
                      reader->DimOr("max_position_embeddings", defaults.max_positions));
  FT_ASSIGN_OR_RETURN(const double epsilon, reader->FloatOr("rms_norm_eps", defaults.norm_epsilon));
  if (epsilon < 0) {
    return InvalidArgument("{}: rms_norm_eps {} is negative", reader->where(), epsilon);
  }
  config.norm_epsilon = static_cast<float>(epsilon);
  config.is_tied = model.tie_word_embeddings.value_or(false);
  reader->Ignore({"tie_word_embeddings"});
  FT_ASSIGN_OR_RETURN(const std::string act, reader->StringOr("hidden_act", "silu"));
  auto activation = ops::ParseActivation(act);
  if (!activation.ok()) {
    return activation.status().WithContext(reader->where() + ": hidden_act");
  }
  FT_ASSIGN_OR_RETURN(Rotary rotary,
                      ReadRotary(defaults, sizes.head_dim, config.info.max_positions, reader));
  config.rotaries.push_back(std::move(rotary));

  DecoderLayerConfig layer;
  layer.attention.hidden_dim = sizes.hidden;
  layer.attention.num_heads = sizes.heads;
  layer.attention.num_kv_heads = sizes.kv_heads;
  layer.attention.head_dim = sizes.head_dim;
  layer.attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.head_dim)));
  layer.attention.norm_epsilon = config.norm_epsilon;
  layer.mlp.hidden_dim = sizes.hidden;
  layer.mlp.intermediate_dim = sizes.intermediate;
  layer.mlp.activation = *activation;
  config.layers.assign(static_cast<size_t>(sizes.layers), layer);
  return config;
}

void SetMoeLayer(const ExpertsConfig& experts, size_t index, DecoderConfig* config) {
  MoeLayerSpec spec;
  spec.layer_id = static_cast<int>(index);
  spec.kind = experts.kind;
  spec.names = experts.names;
  spec.names.prefix = fmt::format("model.layers.{}.{}.experts", index, config->mlp_name);
  config->layers[index].moe_index = static_cast<int>(config->moe_layers.size());
  config->moe_layers.push_back(std::move(spec));
}

uint32_t ExpertActivation(ops::Activation activation) {
  switch (activation) {
    case ops::Activation::kSilu:
      return FT_ACT_SILU;
    case ops::Activation::kGelu:
      return FT_ACT_GELU;
    case ops::Activation::kGeluTanh:
      return FT_ACT_GELU_TANH;
  }
  return 0;
}

Result<int64_t> ReadWindow(ConfigReader* reader, bool is_on, int64_t otherwise) {
  const json::Value* raw = reader->Raw("sliding_window");
  if (!is_on || (raw != nullptr && raw->is_null())) {
    return int64_t{0};
  }
  return reader->DimOr("sliding_window", otherwise);
}

Result<std::vector<int64_t>> ReadLayerWindows(ConfigReader* reader,
                                              int64_t num_layers,
                                              int64_t window,
                                              int64_t first) {
  std::vector<int64_t> windows(static_cast<size_t>(num_layers), 0);
  FT_ASSIGN_OR_RETURN(const std::vector<std::string> types,
                      reader->StringListOrEmpty("layer_types"));
  if (!types.empty() && types.size() != windows.size()) {
    return InvalidArgument("{}: layer_types has {} entries for {} layers", reader->where(),
                           types.size(), num_layers);
  }
  for (size_t i = 0; i < windows.size(); ++i) {
    if (types.empty()) {
      windows[i] = static_cast<int64_t>(i) >= first ? window : 0;
    } else if (types[i] == "sliding_attention") {
      if (window == 0) {
        return Unimplemented("{}: layer_types[{}] is \"sliding_attention\", but no window is on",
                             reader->where(), i);
      }
      windows[i] = window;
    } else if (types[i] != "full_attention") {
      return Unimplemented(
          "{}: layer_types[{}] is \"{}\"; this family has full_attention and sliding_attention",
          reader->where(), i, types[i]);
    }
  }
  return windows;
}

Result<std::unique_ptr<ModelBuilder>> FinishDecoder(DecoderConfig config,
                                                    const std::vector<int64_t>& windows,
                                                    const ConfigReader& reader) {
  FT_RETURN_IF_ERROR(reader.RefuseUnknownKeys());
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].attention.window_tokens = windows[i];
  }
  AssignCacheGroups(&config);
  config.info.num_moe_layers = static_cast<int>(config.moe_layers.size());
  if (!config.moe_layers.empty()) {
    FT_RETURN_IF_ERROR(CheckRouterOptions(config.router));
    config.info.num_experts = config.router.num_experts;
    config.info.top_k = config.router.top_k;
  } else {
    config.router = {};
  }
  return MakeDecoderBuilder(std::move(config));
}

}  // namespace ft
