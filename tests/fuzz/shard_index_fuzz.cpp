// Fuzzes model.safetensors.index.json: whatever it names must stay below the checkpoint's folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/checkpoint/shard_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = ft::ParseShardIndex(text, "folder", "folder/index.json");
  if (!list.ok()) {
    return 0;
  }
  for (const std::string& path : list.value().paths) {
    const bool stays_below = path.starts_with("folder/") &&
                             path.find("/../") == std::string::npos && !path.ends_with("/..") &&
                             path.find('\0') == std::string::npos;
    if (!stays_below) {
      std::abort();
    }
  }
  for (const auto& [name, position] : list.value().index_entries) {
    if (position >= list.value().paths.size()) {
      std::abort();
    }
  }
  return 0;
}
