// Requirements of a manifest, answered before any code of the plugin runs. One evaluator for
// `check`, `info`, `serve` and the status page, so that they never disagree.
#pragma once

#include <string>
#include <vector>

#include "core/plugin_host/manifest.h"
#include "core/plugin_host/plugin_record.h"

namespace ft {

/// Where evidence is read; tests point it elsewhere.
struct RequirementSources {
  std::string cpuinfo = "/proc/cpuinfo";
};

/// One record per requirement, in the manifest's order. Kinds: `cpu_isa` (any_of: lists of flags as
/// /proc/cpuinfo spells them; or level: "x86-64-v3"), `os` (arch, kernel, glibc: least versions),
/// `abi` (core: least version). Any other kind, and a `when`, is `unchecked`, which blocks.
std::vector<RequirementRecord> EvaluateRequirements(const Manifest& manifest,
                                                    const RequirementSources& sources = {});

}  // namespace ft
