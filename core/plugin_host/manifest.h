// The manifest: strict JSON (schema ft.plugin/1) from the note inside a plugin file. It is read
// before any code of the plugin runs, and is the only thing ft believes about a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/value.h"
#include "core/plugin_host/elf_file.h"
#include "core/plugin_host/plugin_record.h"

namespace ft {

inline constexpr size_t kMaxManifestBytes = size_t{64} << 10;

/// "0.1"
struct PluginVersion {
  uint32_t major = 0;
  uint32_t minor = 0;

  friend bool operator==(const PluginVersion&, const PluginVersion&) = default;
};

/// Reads "MAJOR.MINOR"; empty when it is something else.
std::optional<PluginVersion> ParsePluginVersion(std::string_view text);

/// One entry of `requires`. `spec` is the whole entry: the parameters of its kind.
struct ManifestRequirement {
  std::string id;
  std::string kind;
  std::string severity;  ///< "block", "degrade", "note"
  std::string why;
  json::Value spec;
};

struct Manifest {
  std::string id;    ///< "org.freetoken.moe-hybrid"
  std::string name;  ///< its last part, "moe-hybrid"
  std::string version;
  std::string title;
  std::string license;
  std::string build_id;
  PluginVersion abi_core;       ///< compiled with
  PluginVersion abi_need_core;  ///< least it can live with
  std::vector<PluginComponent> provides;
  std::vector<ManifestRequirement> requirements;
  json::Value document;  ///< all of it
};

/// Reads the one manifest among `notes`. Control characters in its texts are refused.
/// Codes: "manifest.absent", "manifest.multiple", "manifest.too_big", "manifest.schema" (a newer
/// one), "manifest.invalid" (names the key).
std::optional<FileFault> ReadManifest(const std::vector<std::string_view>& notes,
                                      Manifest* manifest);

/// Can this ft host it? Codes: "abi.major", "abi.minor", "abi.kind", "abi.component".
std::optional<FileFault> CheckManifestAbi(const Manifest& manifest);

}  // namespace ft
