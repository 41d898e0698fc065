// A plugin's record as people read it.
#include <string>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/plugin_host/plugin_commands.h"

namespace ft {
namespace {

void AppendStep(const PluginStep& step, std::string* out) {
  *out += fmt::format("  {:<12} {:<12} {}\n", step.step, step.status, step.detail);
  if (!step.remedy.command.empty()) {
    *out += fmt::format("  {:<12} fix          {}\n", "", step.remedy.command);
  }
  if (!step.remedy.text.empty()) {
    *out += fmt::format("  {:<12} {:<12} {}\n", "", step.remedy.command.empty() ? "fix" : "",
                        step.remedy.text);
  }
}

void AppendRequirement(const RequirementRecord& requirement, std::string* out) {
  *out += fmt::format(
      "  {:<12} {:<12} want: {}{}\n", requirement.id, VerdictName(requirement.verdict),
      requirement.want,
      requirement.severity == "block" ? "" : fmt::format(" ({})", requirement.severity));
  bool is_first = true;
  for (const Evidence& evidence : requirement.evidence) {
    *out += fmt::format("  {:<12} {:<12} {}  {}: {}\n", "", is_first ? "looked at" : "",
                        evidence.looked_at, evidence.outcome, evidence.detail);
    is_first = false;
  }
  if (requirement.verdict == Verdict::kOk) {
    return;
  }
  if (!requirement.why.empty()) {
    *out += fmt::format("  {:<12} {:<12} {}\n", "", "because", requirement.why);
  }
  if (!requirement.remedy.command.empty()) {
    *out += fmt::format("  {:<12} {:<12} {}\n", "", "fix", requirement.remedy.command);
  }
  if (!requirement.remedy.text.empty()) {
    *out += fmt::format("  {:<12} {:<12} {}\n", "", requirement.remedy.command.empty() ? "fix" : "",
                        requirement.remedy.text);
  }
}

}  // namespace

std::string PluginToText(const PluginRecord& record) {
  std::string out =
      record.id.empty() ? record.path : fmt::format("{} {}", record.id, record.version);
  if (!record.title.empty()) {
    out += " - " + record.title;
  }
  out += fmt::format("\n  {:<12} {}, {} ({})\n", "path", record.path, HumanBytes(record.size_bytes),
                     PluginSourceName(record.source));
  std::string provides;
  for (const PluginComponent& component : record.components) {
    provides += fmt::format("{}{}/{} {}", provides.empty() ? "" : ", ", component.kind,
                            component.name, component.version);
  }
  if (!provides.empty()) {
    out += fmt::format("  {:<12} {}\n", "provides", provides);
  }
  for (const PluginStep& step : record.steps) {
    AppendStep(step, &out);
  }
  for (const RequirementRecord& requirement : record.requirements) {
    AppendRequirement(requirement, &out);
  }
  out += PluginStateName(record.state);
  if (record.state == PluginState::kReady && record.source == PluginSource::kFlag) {
    out += ": it is not enabled; it runs for one start with --plugin " + record.path;
  } else if (!record.Reason().empty()) {
    out += ": " + record.Reason();
  }
  return out + "\n";
}

}  // namespace ft
