// Hostile config.json texts through the model families: understood or refused, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/models/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = ft::ParseModelConfig(text, "", "");
  if (!config.ok()) {
    return 0;
  }
  ft::ModelRegistry registry;
  ft::RegisterBuiltinModels(&registry);
  for (const ft::ModelFamily& family : registry.families()) {
    const auto builder = family.read_config(*config);
    if (builder.ok() && (*builder)->info().num_layers < 1) {
      __builtin_trap();
    }
  }
  return 0;
}
