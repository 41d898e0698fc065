#include "core/plugin_host/plugin_record.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace ft {

const char* PluginSourceName(PluginSource source) {
  switch (source) {
    case PluginSource::kFlag:
      return "flag";
    case PluginSource::kEnvironment:
      return "environment";
    case PluginSource::kBuiltIn:
      return "built-in";
  }
  return "?";
}

const char* PluginStateName(PluginState state) {
  switch (state) {
    case PluginState::kReady:
      return "ready";
    case PluginState::kBlocked:
      return "blocked";
    case PluginState::kRefused:
      return "refused";
    case PluginState::kShadowed:
      return "shadowed";
    case PluginState::kLoaded:
      return "loaded";
  }
  return "?";
}

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kStale:
      return "stale";
    case Verdict::kMismatch:
      return "mismatch";
    case Verdict::kUnchecked:
      return "unchecked";
  }
  return "?";
}

const PluginStep* PluginRecord::failed_step() const {
  const auto step =
      std::find_if(steps.begin(), steps.end(), [](const PluginStep& s) { return !s.code.empty(); });
  return step == steps.end() ? nullptr : &*step;
}

const RequirementRecord* PluginRecord::blocking_requirement() const {
  const auto requirement =
      std::find_if(requirements.begin(), requirements.end(), [](const RequirementRecord& r) {
        return r.severity == "block" && r.verdict != Verdict::kOk;
      });
  return requirement == requirements.end() ? nullptr : &*requirement;
}

int PluginRecord::exit_code() const {
  if (const PluginStep* step = failed_step()) {
    const std::string_view code = step->code;
    if (code.starts_with("internal.")) {
      return 6;
    }
    if (code.starts_with("probe.") || code == "load.exception" || code == "load.side_effect") {
      return 5;
    }
    return code.starts_with("trust.") ? 4 : 1;
  }
  return blocking_requirement() != nullptr ? 1 : 0;
}

std::string PluginRecord::Reason() const {
  if (const PluginStep* step = failed_step()) {
    return fmt::format("{}: {}", step->code, step->detail);
  }
  if (const RequirementRecord* requirement = blocking_requirement()) {
    return fmt::format("requirement {} ({}): {}, want {}", requirement->id, requirement->kind,
                       VerdictName(requirement->verdict), requirement->want);
  }
  return state == PluginState::kShadowed ? "a stronger place has the same id" : "";
}

}  // namespace ft
