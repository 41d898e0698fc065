// What ft knows about one plugin file: every step of the ladder file -> trust -> manifest ->
// requirements -> probe -> load, with its verdict, evidence and remedy. Data only; rendering is in
// report.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ft {

/// Where a file was found; the lower is the stronger.
enum class PluginSource {
  kFlag,         ///< --plugin FILE
  kEnvironment,  ///< a folder of FT_PLUGIN_PATH
  kBuiltIn       ///< <exe dir>/../lib/ft/plugins
};

enum class PluginState {
  kReady,     ///< every step that was taken is ok
  kBlocked,   ///< a requirement does not hold
  kRefused,   ///< broken file, manifest, trust, ABI, or it failed in the probe
  kShadowed,  ///< a stronger place has the same id
  kLoaded     ///< in this process, registered
};

enum class Verdict {
  kOk,
  kMissing,
  kStale,
  kMismatch,
  kUnchecked  ///< could not be evaluated; never counts as ok
};

const char* PluginSourceName(PluginSource source);  ///< "flag", "environment", "built-in"
const char* PluginStateName(PluginState state);     ///< "ready", "blocked", …
const char* VerdictName(Verdict verdict);           ///< "ok", "missing", …

/// One place that was looked at.
struct Evidence {
  std::string looked_at;  ///< "cpuid", "/proc/…", "the manifest"
  std::string outcome;    ///< "found", "absent", "rejected"
  std::string detail;
};

struct Remedy {
  std::string command;  ///< runs as printed; empty: there is none
  std::string text;
};

/// One step of the ladder.
struct PluginStep {
  std::string step;    ///< "file", "trust", "manifest", "abi", "probe", "load"
  std::string status;  ///< "ok", or the last part of code: "malformed", "crashed"
  std::string code;    ///< the class: "file.malformed", "probe.crashed"; empty when ok
  std::string detail;
  Remedy remedy;
};

struct RequirementRecord {
  std::string id;
  std::string kind;
  std::string severity;  ///< "block", "degrade", "note"
  Verdict verdict = Verdict::kUnchecked;
  std::string want;
  std::vector<Evidence> evidence;
  Remedy remedy;
  std::string why;
};

struct PluginComponent {
  std::string kind;     ///< "moe_backend"
  std::string name;     ///< "offload"
  std::string version;  ///< "0.1"
};

struct PluginRecord {
  std::string path;  ///< absolute
  PluginSource source = PluginSource::kBuiltIn;
  std::string id;    ///< "org.ft.moe-offload"; empty when the manifest could not be read
  std::string name;  ///< short name, "moe-offload": what --plugin takes
  std::string version;
  std::string title;
  std::string license;
  std::string build_id;  ///< of the ELF file, hexadecimal; may be empty
  uint64_t size_bytes = 0;
  std::vector<PluginComponent> components;
  std::vector<std::string> exports;
  std::vector<std::string> needed;  ///< libraries
  PluginState state = PluginState::kRefused;
  std::vector<PluginStep> steps;
  std::vector<RequirementRecord> requirements;

  /// The first step that failed, or null.
  const PluginStep* failed_step() const;
  /// The first requirement that blocks, or null.
  const RequirementRecord* blocking_requirement() const;
  /// Of `ft plugins check` for this file: 0, 1, 4 or 5 (design/plugins.md point 9).
  int exit_code() const;
  /// One line that says why it is not ready; empty when it is.
  std::string Reason() const;
};

}  // namespace ft
