// dlopen and the first words with a plugin: entry, comparison of its table with the manifest,
// start. Runs in the probe's child first, and in the server only after that went well.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ft/plugin/abi.h"

#include "core/plugin_host/elf_file.h"
#include "core/plugin_host/manifest.h"

namespace ft {

/// A plugin in this process. Tables are the plugin's own, valid as long as the process.
struct OpenedPlugin {
  const ft_plugin* table = nullptr;
  void* state = nullptr;                        ///< from start, or null
  std::vector<const ft_component*> components;  ///< in the manifest's order
  bool changed_floating_point = false;          ///< while loading; put back
};

/// Told what is about to happen: "open", "entry", "describe", "start". A crash is then blamed on
/// it.
using StageSink = std::function<void(const char* stage)>;

/// Loads `path` for good (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), calls its entry, compares its
/// table with `manifest`, and starts it. `mode` is FT_MODE_SERVE or FT_MODE_PROBE.
/// Codes: "load.failed" (dlopen's words), "load.twice", "load.side_effect", "load.start",
/// "load.refused" (the entry said no), "load.exception"; "abi.entry", "abi.table", "abi.major",
/// "abi.minor", "abi.component", "manifest.disagrees".
std::optional<FileFault> OpenPlugin(const std::string& path,
                                    const Manifest& manifest,
                                    uint32_t mode,
                                    const StageSink& stage,
                                    OpenedPlugin* opened);

/// Calls the plugin's stop. Its code stays mapped.
void StopPlugin(const OpenedPlugin& opened);

/// What the host hands to entry and start: ft.log. Lives as long as the process.
const ft_host* PluginHostTable(uint32_t mode);

/// The plugin's words with control characters escaped; at most `max_bytes`.
std::string PluginText(const char* text, size_t max_bytes);

}  // namespace ft
