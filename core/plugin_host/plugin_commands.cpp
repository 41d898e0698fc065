#include "core/plugin_host/plugin_commands.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/json/write.h"

namespace ft {
namespace {

using json::Value;

constexpr std::array<std::string_view, 6> kLaterVerbs = {"test",    "new",  "enable",
                                                         "disable", "lock", "embed"};

CommandOutput Print(Value document, int exit_code) {
  document.Set("exit_code", exit_code);
  return {json::Write(document, {.indent = 2}) + "\n", "", exit_code};
}

Value Document(std::string_view command) {
  Value document = Value::MakeObject();
  document.Set("schema", fmt::format("ft.plugins.{}/1", command));
  return document;
}

CommandOutput Fail(std::string_view command, const Status& status, bool json) {
  const int exit_code = ExitCode(status.code());
  CommandOutput output;
  if (json) {
    Value document = Document(command);
    document.Set("error", status.message());
    document.Set("plugins", Value::MakeArray());
    output = Print(std::move(document), exit_code);
  }
  output.exit_code = exit_code;
  output.error = status.message();
  return output;
}

// Several codes make one: the largest of 6, 5, 4, then 1.
int Combine(int a, int b) {
  return std::max(a, b);
}

// The plugins that a command is about: the one named, or all found.
std::vector<const PluginRecord*> Select(const PluginHost& host, const std::string& what) {
  if (!what.empty()) {
    return host.named();
  }
  std::vector<const PluginRecord*> all;
  for (const PluginRecord& record : host.records()) {
    all.push_back(&record);
  }
  return all;
}

// `what` goes the way of --plugin: the same words find the same file everywhere.
PluginHost HostFor(const PluginCommandOptions& options, const std::string& what) {
  PluginHostOptions host = options.host;
  if (!what.empty()) {
    host.plugins = {what};
  }
  return PluginHost(std::move(host));
}

Value Summary(const std::vector<const PluginRecord*>& records) {
  Value summary = Value::MakeObject();
  for (const PluginState state : {PluginState::kReady, PluginState::kBlocked, PluginState::kRefused,
                                  PluginState::kShadowed}) {
    summary.Set(PluginStateName(state),
                static_cast<int64_t>(std::count_if(
                    records.begin(), records.end(),
                    [state](const PluginRecord* record) { return record->state == state; })));
  }
  return summary;
}

CommandOutput PrintRecords(std::string_view command,
                           const std::vector<const PluginRecord*>& records,
                           int exit_code) {
  Value document = Document(command);
  Value plugins = Value::MakeArray();
  for (const PluginRecord* record : records) {
    plugins.Append(PluginToJson(*record));
  }
  document.Set("plugins", std::move(plugins));
  document.Set("summary", Summary(records));
  return Print(std::move(document), exit_code);
}

}  // namespace

CommandOutput PluginsList(const PluginCommandOptions& options) {
  PluginHost host = HostFor(options, "");
  if (const Status status = host.Discover(); !status.ok()) {
    return Fail("list", status, options.json);
  }
  const std::vector<const PluginRecord*> records = Select(host, "");
  if (options.json) {
    return PrintRecords("list", records, 0);
  }
  std::string text =
      fmt::format("{:<28} {:<9} {:<9} {:<12} {}\n", "ID", "VERSION", "STATE", "FROM", "PROVIDES");
  for (const PluginRecord* record : records) {
    std::string provides;
    for (const PluginComponent& component : record->components) {
      provides +=
          fmt::format("{}{}/{}", provides.empty() ? "" : ", ", component.kind, component.name);
    }
    text += fmt::format("{:<28} {:<9} {:<9} {:<12} {}\n",
                        record->id.empty() ? record->path : record->id, record->version,
                        PluginStateName(record->state), PluginSourceName(record->source), provides);
    if (record->state != PluginState::kReady) {
      text += fmt::format("{:<28} {}\n", "", record->Reason());
    }
  }
  text += fmt::format("{} found. Why: ft plugins check [NAME]\n", records.size());
  return {std::move(text), "", 0};
}

CommandOutput PluginsInfo(const PluginCommandOptions& options, const std::string& what) {
  if (what.empty()) {
    return Fail("info", InvalidArgument("plugins info wants a name, id or file"), options.json);
  }
  PluginHost host = HostFor(options, what);
  if (const Status status = host.Discover(); !status.ok()) {
    return Fail("info", status, options.json);
  }
  const std::vector<const PluginRecord*> records = host.named();
  int exit_code = 0;
  for (const PluginRecord* record : records) {
    if (record->id.empty()) {  // nothing can be told about it but what is wrong
      exit_code = Combine(exit_code, record->exit_code());
    }
  }
  if (options.json) {
    return PrintRecords("info", records, exit_code);
  }
  std::string text;
  for (const PluginRecord* record : records) {
    text += PluginToText(*record);
    text +=
        fmt::format("  {:<12} {}\n  {:<12} {}\n  {:<12} {}\n  {:<12} {}\n", "license",
                    record->license, "build-id", record->build_id, "needs libs",
                    fmt::join(record->needed, ", "), "exports", fmt::join(record->exports, ", "));
  }
  return {std::move(text), "", exit_code};
}

CommandOutput PluginsCheck(const PluginCommandOptions& options, const std::string& what) {
  PluginHost host = HostFor(options, what);
  if (const Status status = host.Discover(); !status.ok()) {
    return Fail("check", status, options.json);
  }
  host.Probe(what.empty() ? ProbeScope::kAll : ProbeScope::kNamed);
  const std::vector<const PluginRecord*> records = Select(host, what);
  int exit_code = 0;
  for (const PluginRecord* record : records) {
    exit_code = Combine(exit_code, record->exit_code());
  }
  if (options.json) {
    return PrintRecords("check", records, exit_code);
  }
  std::string text;
  for (const PluginRecord* record : records) {
    text += PluginToText(*record);
  }
  if (records.empty()) {
    text = "no plugins found; see: ft plugins dirs\n";
  }
  return {std::move(text), "", exit_code};
}

CommandOutput PluginsDirs(const PluginCommandOptions& options) {
  PluginHost host = HostFor(options, "");
  if (const Status status = host.Discover(); !status.ok()) {
    return Fail("dirs", status, options.json);
  }
  if (!options.json) {
    std::string text = "searched in this order, the first wins (the working folder never is):\n";
    text += fmt::format("  {:<12} --plugin FILE\n", PluginSourceName(PluginSource::kFlag));
    for (const PluginDir& dir : host.dirs()) {
      text += fmt::format("  {:<12} {}  {}\n", PluginSourceName(dir.source), dir.path,
                          dir.note.empty() ? fmt::format("{} plugins", dir.num_plugins) : dir.note);
    }
    return {std::move(text), "", 0};
  }
  Value document = Document("dirs");
  Value dirs = Value::MakeArray();
  for (const PluginDir& dir : host.dirs()) {
    Value entry = Value::MakeObject();
    entry.Set("path", dir.path);
    entry.Set("source", PluginSourceName(dir.source));
    entry.Set("exists", dir.exists);
    entry.Set("plugins", dir.num_plugins);
    entry.Set("note", dir.note);
    dirs.Append(std::move(entry));
  }
  document.Set("dirs", std::move(dirs));
  return Print(std::move(document), 0);
}

CommandOutput PluginsCommand(const PluginHostOptions& host, const std::vector<std::string>& args) {
  PluginCommandOptions options = {host, false};
  std::vector<std::string> words;
  std::string unknown;
  for (const std::string& arg : args) {
    if (arg == "--json") {
      options.json = true;
    } else if (arg.starts_with('-') && unknown.empty()) {
      unknown = arg;
    } else {
      words.push_back(arg);
    }
  }
  const std::string verb = words.empty() ? "" : words[0];
  const std::string what = words.size() > 1 ? words[1] : "";
  if (std::find(kLaterVerbs.begin(), kLaterVerbs.end(), verb) != kLaterVerbs.end()) {
    return Fail(verb,
                InvalidArgument("plugins {}: this ft does not have it yet; there are list, info, "
                                "check, dirs",
                                verb),
                options.json);
  }
  if (!unknown.empty()) {
    return Fail(verb, InvalidArgument("plugins {}: unknown option {}", verb, unknown),
                options.json);
  }
  if (words.size() > 2 || (words.size() > 1 && (verb == "list" || verb == "dirs"))) {
    return Fail(verb, InvalidArgument("plugins {}: too many words: {}", verb, words.back()),
                options.json);
  }
  if (verb == "list") {
    return PluginsList(options);
  }
  if (verb == "info") {
    return PluginsInfo(options, what);
  }
  if (verb == "check") {
    return PluginsCheck(options, what);
  }
  if (verb == "dirs") {
    return PluginsDirs(options);
  }
  return Fail("usage",
              InvalidArgument("usage: ft plugins list | info NAME | check [NAME|FILE] | dirs "
                              "[--json]{}",
                              verb.empty() ? "" : "; there is no '" + verb + "'"),
              options.json);
}

}  // namespace ft
