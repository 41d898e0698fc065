// qwen3: a plain decoder (core/models/decoder.h) by its own description (config.h).
#include "core/models/qwen3/config.h"
#include "core/models/registry.h"

namespace ft::models::qwen3 {

void Register(ModelRegistry* registry);  // called by the generated builtin_models.cpp

void Register(ModelRegistry* registry) {
  registry->Add({.name = "qwen3",
                 .architectures = {"Qwen3ForCausalLM"},
                 .model_types = {"qwen3"},
                 .read_config = ReadConfig});
}

}  // namespace ft::models::qwen3
