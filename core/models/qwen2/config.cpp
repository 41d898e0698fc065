// qwen2: windows on the later layers where the config asks for them.
#include "core/models/qwen2/config.h"

#include "core/models/decoder_config.h"

namespace ft::models::qwen2 {

Result<std::unique_ptr<ModelBuilder>> ReadConfig(const ModelConfig& model) {
  ConfigReader reader(model.text(), model.text_where());
  const DecoderDefaults defaults = {.family = "qwen2", .num_kv_heads = 32, .max_positions = 32768};
  FT_ASSIGN_OR_RETURN(DecoderConfig config, ReadDecoderConfig(model, defaults, &reader));
  // The class has these biases whatever the config says.
  reader.Ignore({"attention_bias", "qkv_bias"});
  for (DecoderLayerConfig& layer : config.layers) {
    layer.attention.has_qkv_bias = true;
  }
  FT_ASSIGN_OR_RETURN(const bool has_window, reader.BoolOr("use_sliding_window", false));
  FT_ASSIGN_OR_RETURN(const int64_t window, ReadWindow(&reader, has_window, 4096));
  FT_ASSIGN_OR_RETURN(const int64_t first, reader.IntOr("max_window_layers", 28));
  FT_ASSIGN_OR_RETURN(const std::vector<int64_t> windows,
                      ReadLayerWindows(&reader, config.info.num_layers, window, first));
  return FinishDecoder(std::move(config), windows, reader);
}

}  // namespace ft::models::qwen2
