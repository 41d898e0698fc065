// qwen3: windows on the later layers where the config asks for them.
#include "core/models/qwen3/config.h"

#include "core/models/decoder_config.h"

namespace ft::models::qwen3 {

Result<std::unique_ptr<ModelBuilder>> ReadConfig(const ModelConfig& model) {
  ConfigReader reader(model.text(), model.text_where());
  const DecoderDefaults defaults = {
      .family = "qwen3", .num_kv_heads = 32, .head_dim = 128, .max_positions = 32768};
  FT_ASSIGN_OR_RETURN(DecoderConfig config, ReadDecoderConfig(model, defaults, &reader));
  FT_ASSIGN_OR_RETURN(const bool has_bias, reader.BoolOr("attention_bias", false));
  for (DecoderLayerConfig& layer : config.layers) {
    layer.attention.has_qkv_bias = has_bias;
    layer.attention.has_output_bias = has_bias;
    layer.attention.has_qk_norm = true;
  }
  FT_ASSIGN_OR_RETURN(const bool has_window, reader.BoolOr("use_sliding_window", false));
  FT_ASSIGN_OR_RETURN(const int64_t window, ReadWindow(&reader, has_window, 4096));
  FT_ASSIGN_OR_RETURN(const int64_t first, reader.IntOr("max_window_layers", 28));
  FT_ASSIGN_OR_RETURN(const std::vector<int64_t> windows,
                      ReadLayerWindows(&reader, config.info.num_layers, window, first));
  return FinishDecoder(std::move(config), windows, reader);
}

}  // namespace ft::models::qwen3
