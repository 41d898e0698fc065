// qwen3_moe: a plain decoder (core/models/decoder.h) by its own description (config.h).
#include "core/models/qwen3_moe/config.h"
#include "core/models/registry.h"

namespace ft::models::qwen3_moe {

void Register(ModelRegistry* registry);  // called by the generated builtin_models.cpp

void Register(ModelRegistry* registry) {
  registry->Add({.name = "qwen3_moe",
                 .architectures = {"Qwen3MoeForCausalLM"},
                 .model_types = {"qwen3_moe"},
                 .read_config = ReadConfig});
}

}  // namespace ft::models::qwen3_moe
