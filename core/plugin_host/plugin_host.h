// PluginHost: finds the plugin files of this machine, judges each one without running it, runs it
// in a throw-away process first, loads it, and registers what it offers. Never unloads. The steps
// are in their own files (elf_file, manifest, trust, requirements, probe, load); this is their
// order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plugin_host/manifest.h"
#include "core/plugin_host/plugin_record.h"

namespace ft {

class MoeBackendRegistry;
class QuantizationRegistry;
struct ProbeVerdict;

namespace text {
class ParserRegistry;
}

struct PluginHostOptions {
  std::vector<std::string> plugins;  ///< --plugin: a manifest's short name, or a path (has a '/' or
                                     ///< ends in ".so")
  std::vector<std::string> search_path;  ///< FT_PLUGIN_PATH, split at ':'
  std::string built_in_dir;              ///< empty: <exe dir>/../lib/ft/plugins
  std::string program;                   ///< what the probe executes; empty: /proc/self/exe
  int probe_timeout_ms = 5000;           ///< per file, wall time
};

/// Options as the environment sets them (FT_PLUGIN_PATH; ignored when the process runs with raised
/// privileges).
PluginHostOptions PluginHostOptionsFromEnvironment();

/// One place of the search order, for `ft plugins dirs`.
struct PluginDir {
  std::string path;
  PluginSource source = PluginSource::kBuiltIn;
  bool exists = false;
  int num_plugins = 0;
  std::string note;  ///< why it was passed over; empty otherwise
};

/// Where loaded components go. A null registry: plugins that offer such components are left out.
struct PluginRegistries {
  QuantizationRegistry* quantizations = nullptr;
  MoeBackendRegistry* moe_backends = nullptr;
  text::ParserRegistry* parsers = nullptr;
};

enum class ProbeScope {
  kAll,
  kNamed
};

/// Owner thread only; load everything at start, before other threads exist.
class PluginHost {
 public:
  explicit PluginHost(PluginHostOptions options);

  /// Looks at every place and runs the static steps (file, trust, manifest, abi, requirements) on
  /// what is there. Runs no plugin code. A folder that cannot be read is a note in dirs().
  /// Errors: kNotFound: a --plugin name or file is not there (lists the names there are and where
  /// was looked).
  Status Discover();

  /// Runs every file that is still `ready` in the probe. Built-in files share one child; when that
  /// child does not come back whole, and for all other files, each file gets its own.
  /// kNamed: only those that --plugin named.
  void Probe(ProbeScope scope = ProbeScope::kAll);

  /// Discover, Probe, then dlopen, entry, start and registration of every ready plugin. A plugin
  /// that is not ready is left out with one log line, unless `--plugin` named it: then that is an
  /// error with the full record.
  /// Errors: as Discover; kPermissionDenied (trust), kPluginFault (probe, load),
  /// kFailedPrecondition (requirement) for a plugin that was named.
  Status LoadAll(const PluginRegistries& registries);

  /// Strongest place first, by file name within a folder.
  const std::vector<PluginRecord>& records() const { return records_; }

  const std::vector<PluginDir>& dirs() const { return dirs_; }

  /// By short name, id, or path. Null when absent.
  const PluginRecord* Find(std::string_view name) const;

  /// The plugins that --plugin named, in order. Valid after Discover.
  std::vector<const PluginRecord*> named() const;

 private:
  Status AddNamedFiles();
  Status ResolveNames();
  int64_t IndexOf(const std::string& plugin) const;
  void AddFolder(const std::string& path, PluginSource source);
  bool AddFile(const std::string& path, PluginSource source);
  void MarkTwins();
  void TakeVerdict(size_t index, const ProbeVerdict& verdict);
  Status Load(size_t index, const PluginRegistries& registries);

  PluginHostOptions options_;
  std::string prefix_;  // of ft itself: <exe dir>/..
  std::vector<PluginRecord> records_;
  std::vector<Manifest> manifests_;  // of the record with the same index
  std::vector<PluginDir> dirs_;
  std::vector<size_t> named_;
  bool is_discovered_ = false;
};

/// The child's side of the probe: `ft __plugin-probe NONCE FILE…`. Call it first thing in main when
/// argv[1] is kPluginProbeCommand; returns the exit code.
inline constexpr const char* kPluginProbeCommand = "__plugin-probe";
int RunPluginProbe(int argc, char** argv);

}  // namespace ft
