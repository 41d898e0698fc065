// qwen2: a plain decoder (core/models/decoder.h) by its own description (config.h).
#include "core/models/qwen2/config.h"
#include "core/models/registry.h"

namespace ft::models::qwen2 {

void Register(ModelRegistry* registry);  // called by the generated builtin_models.cpp

void Register(ModelRegistry* registry) {
  registry->Add({.name = "qwen2",
                 .architectures = {"Qwen2ForCausalLM"},
                 .model_types = {"qwen2"},
                 .read_config = ReadConfig});
}

}  // namespace ft::models::qwen2
