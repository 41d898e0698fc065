// Fuzzes the static gate and the manifest reader: arbitrary bytes as a plugin file, and as the text
// of a manifest note.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/plugin_host/elf_file.h"
#include "core/plugin_host/manifest.h"
#include "core/plugin_host/requirements.h"

namespace {

void ReadNotes(const std::vector<std::string_view>& notes) {
  ft::Manifest manifest;
  if (ft::ReadManifest(notes, &manifest).has_value()) {
    return;
  }
  if (manifest.id.empty() || manifest.provides.empty()) {
    std::abort();  // accepted without what it must have
  }
  static_cast<void>(ft::CheckManifestAbi(manifest));
  if (ft::EvaluateRequirements(manifest).size() != manifest.requirements.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  ft::ElfFacts facts;
  if (!ft::ReadElf(std::as_bytes(bytes), {}, &facts).has_value()) {
    ReadNotes(facts.manifests);
  }
  ReadNotes({{reinterpret_cast<const char*>(data), size}});
  return 0;
}
