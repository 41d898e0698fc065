// The probe: a plugin's code runs for the first time in a fresh process (this program again, with
// limits and a deadline), whose word counts only when it is signed with a nonce at the very end. A
// crash, a hang or an exit in a constructor is a verdict here, never the end of ft.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plugin_host/elf_file.h"

namespace ft {

struct ProbeOptions {
  std::string program;    ///< empty: /proc/self/exe
  int timeout_ms = 5000;  ///< wall time of one child
};

/// What one file did.
struct ProbeVerdict {
  std::optional<FileFault> fault;  ///< none: ready
  std::string detail;              ///< "ready after 4 ms", or the last words on stderr
  std::string remedy;
};

/// Runs one child for all of `paths`. Verdicts in their order when it came back whole; otherwise
/// the one verdict of the file at which it ended, and `is_whole` false: probe the files one by one.
/// Codes: "probe.crashed", "probe.hung", "probe.ended", those of OpenPlugin, and "internal.probe"
/// when no child could be started.
struct ProbeResult {
  bool is_whole = false;
  std::vector<ProbeVerdict> verdicts;  ///< whole: one per path; otherwise exactly one
};

ProbeResult ProbePlugins(const std::vector<std::string>& paths, const ProbeOptions& options);

}  // namespace ft
