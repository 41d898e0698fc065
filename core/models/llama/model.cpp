// llama: a plain decoder (core/models/decoder.h) by its own description (config.h).
#include "core/models/llama/config.h"
#include "core/models/registry.h"

namespace ft::models::llama {

void Register(ModelRegistry* registry);  // called by the generated builtin_models.cpp

void Register(ModelRegistry* registry) {
  registry->Add({.name = "llama",
                 .architectures = {"LlamaForCausalLM"},
                 .model_types = {"llama"},
                 .read_config = ReadConfig});
}

}  // namespace ft::models::llama
