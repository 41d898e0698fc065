// llama: full attention everywhere; biases where the config says so.
#include "core/models/llama/config.h"

#include "core/models/decoder_config.h"

namespace ft::models::llama {

Result<std::unique_ptr<ModelBuilder>> ReadConfig(const ModelConfig& model) {
  ConfigReader reader(model.text(), model.text_where());
  const DecoderDefaults defaults = {.family = "llama", .max_positions = 2048};
  FT_ASSIGN_OR_RETURN(DecoderConfig config, ReadDecoderConfig(model, defaults, &reader));
  FT_ASSIGN_OR_RETURN(const bool has_attention_bias, reader.BoolOr("attention_bias", false));
  FT_ASSIGN_OR_RETURN(const bool has_mlp_bias, reader.BoolOr("mlp_bias", false));
  FT_RETURN_IF_ERROR(reader.ExpectBool("use_sliding_window", false));
  for (DecoderLayerConfig& layer : config.layers) {
    layer.attention.has_qkv_bias = has_attention_bias;
    layer.attention.has_output_bias = has_attention_bias;
    layer.mlp.has_bias = has_mlp_bias;
  }
  FT_ASSIGN_OR_RETURN(const std::vector<int64_t> windows,
                      ReadLayerWindows(&reader, config.info.num_layers, 0, 0));
  return FinishDecoder(std::move(config), windows, reader);
}

}  // namespace ft::models::llama
