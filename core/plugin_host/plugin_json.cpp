// A plugin's record as JSON. Field names are part of the compatibility promise; new ones may
// appear.
#include <utility>

#include "core/plugin_host/plugin_commands.h"

namespace ft {
namespace {

using json::Value;

Value Texts(const std::vector<std::string>& texts) {
  Value array = Value::MakeArray();
  for (const std::string& text : texts) {
    array.Append(text);
  }
  return array;
}

Value ToJson(const Remedy& remedy) {
  Value object = Value::MakeObject();
  object.Set("command", remedy.command.empty() ? Value() : Value(remedy.command));
  object.Set("text", remedy.text);
  return object;
}

Value ToJson(const PluginStep& step) {
  Value object = Value::MakeObject();
  object.Set("step", step.step);
  object.Set("status", step.status);
  object.Set("code", step.code.empty() ? Value() : Value(step.code));
  object.Set("detail", step.detail);
  if (!step.remedy.command.empty() || !step.remedy.text.empty()) {
    object.Set("remedy", ToJson(step.remedy));
  }
  return object;
}

Value ToJson(const RequirementRecord& requirement) {
  Value object = Value::MakeObject();
  object.Set("id", requirement.id);
  object.Set("kind", requirement.kind);
  object.Set("severity", requirement.severity);
  object.Set("verdict", VerdictName(requirement.verdict));
  object.Set("want", requirement.want);
  Value evidence = Value::MakeArray();
  for (const Evidence& item : requirement.evidence) {
    Value entry = Value::MakeObject();
    entry.Set("looked_at", item.looked_at);
    entry.Set("outcome", item.outcome);
    entry.Set("detail", item.detail);
    evidence.Append(std::move(entry));
  }
  object.Set("evidence", std::move(evidence));
  object.Set("remedy", ToJson(requirement.remedy));
  object.Set("why", requirement.why);
  return object;
}

}  // namespace

json::Value PluginToJson(const PluginRecord& record) {
  Value object = Value::MakeObject();
  object.Set("id", record.id.empty() ? Value() : Value(record.id));
  object.Set("name", record.name.empty() ? Value() : Value(record.name));
  object.Set("version", record.version);
  object.Set("title", record.title);
  object.Set("license", record.license);
  object.Set("path", record.path);
  object.Set("source", PluginSourceName(record.source));
  object.Set("state", PluginStateName(record.state));
  object.Set("reason", record.Reason().empty() ? Value() : Value(record.Reason()));
  const PluginStep* failed = record.failed_step();
  object.Set("class", failed == nullptr ? Value() : Value(failed->code));
  object.Set("size_bytes", record.size_bytes);
  object.Set("build_id", record.build_id);
  Value components = Value::MakeArray();
  for (const PluginComponent& component : record.components) {
    Value entry = Value::MakeObject();
    entry.Set("kind", component.kind);
    entry.Set("name", component.name);
    entry.Set("version", component.version);
    components.Append(std::move(entry));
  }
  object.Set("components", std::move(components));
  object.Set("exports", Texts(record.exports));
  object.Set("needed", Texts(record.needed));
  Value steps = Value::MakeArray();
  for (const PluginStep& step : record.steps) {
    steps.Append(ToJson(step));
  }
  object.Set("steps", std::move(steps));
  Value requirements = Value::MakeArray();
  for (const RequirementRecord& requirement : record.requirements) {
    requirements.Append(ToJson(requirement));
  }
  object.Set("requirements", std::move(requirements));
  object.Set("exit_code", record.exit_code());
  return object;
}

}  // namespace ft
