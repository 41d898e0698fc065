// mixtral: a plain decoder (core/models/decoder.h) by its own description (config.h).
#include "core/models/mixtral/config.h"
#include "core/models/registry.h"

namespace ft::models::mixtral {

void Register(ModelRegistry* registry);  // called by the generated builtin_models.cpp

void Register(ModelRegistry* registry) {
  registry->Add({.name = "mixtral",
                 .architectures = {"MixtralForCausalLM"},
                 .model_types = {"mixtral"},
                 .read_config = ReadConfig});
}

}  // namespace ft::models::mixtral
