// Fuzzes config.json, generation_config.json and hf_quant_config.json (separated by a zero byte),
// with rope, quantization patterns and stop ids.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/model_config.h"
#include "core/checkpoint/quant_config.h"
#include "core/checkpoint/rope_config.h"
#include "core/checkpoint/stop_ids.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 3> texts;
  for (std::string_view& text : texts) {
    const size_t end = rest.find('\0');
    text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  const auto config = ft::ParseModelConfig(texts[0], texts[1], texts[2]);
  if (!config.ok()) {
    return 0;
  }
  ft::ConfigReader reader(config.value().text(), config.value().text_where());
  for (const char* kind : {"", "full_attention"}) {
    static_cast<void>(ft::ReadRopeConfig(&reader, {.layer_kind = kind}).ok());
  }
  static_cast<void>(reader.RefuseUnknownKeys().ok());
  static_cast<void>(ft::CollectStopIds(config.value(), std::array<int64_t, 1>{7}));
  const auto matcher = ft::QuantMatcher::Create(config.value().quant);
  if (matcher.ok()) {
    for (const char* module : {"lm_head", "model.layers.0.mlp.experts.7.up_proj", "", "."}) {
      static_cast<void>(matcher.value().GroupOf(module).ok());
    }
  }
  return 0;
}
