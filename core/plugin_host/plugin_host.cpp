// The order of things: where files are looked for, and which step each has passed. The steps
// themselves are next door.
#include "core/plugin_host/plugin_host.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/plugin_host/elf_file.h"
#include "core/plugin_host/load.h"
#include "core/plugin_host/plugin_commands.h"
#include "core/plugin_host/probe.h"
#include "core/plugin_host/registration.h"
#include "core/plugin_host/requirements.h"
#include "core/plugin_host/sanitizers.h"
#include "core/plugin_host/trust.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

bool IsPath(std::string_view plugin) {
  return plugin.find('/') != std::string_view::npos || plugin.ends_with(".so");
}

std::string ExeFolder() {
  std::error_code error;
  const fs::path exe = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string("/") : exe.parent_path().string();
}

void AddOk(std::string step, std::string detail, PluginRecord* record) {
  record->steps.push_back({std::move(step), "ok", "", std::move(detail), {}});
}

void AddFault(std::string step, const FileFault& fault, PluginRecord* record) {
  record->state = PluginState::kRefused;
  const size_t dot = fault.code.find('.');
  record->steps.push_back({std::move(step),
                           fault.code.substr(dot == std::string::npos ? 0 : dot + 1),
                           fault.code,
                           fault.message,
                           {}});
}

// "trust.owner" -> "trust": the step that a class belongs to.
std::string StepOf(const FileFault& fault) {
  return fault.code.substr(0, fault.code.find('.'));
}

// The static steps behind trust. False when one failed.
bool Describe(std::string_view content, PluginRecord* record, Manifest* manifest) {
  ElfFacts facts;
  const auto elf_fault =
      ReadElf(std::as_bytes(std::span(content)), {.allow_other_exports = kIsSanitized}, &facts);
  record->exports = facts.exports;
  record->needed = facts.needed;
  record->build_id = facts.build_id;
  if (elf_fault.has_value()) {
    AddFault("file", *elf_fault, record);
    return false;
  }
  AddOk(
      "file",
      fmt::format("ELF64 x86-64, {}, {} export{}, stack not executable", HumanBytes(content.size()),
                  facts.exports.size(), facts.exports.size() == 1 ? "" : "s"),
      record);
  if (const auto fault = ReadManifest(facts.manifests, manifest)) {
    AddFault("manifest", *fault, record);
    return false;
  }
  record->id = manifest->id;
  record->name = manifest->name;
  record->version = manifest->version;
  record->title = manifest->title;
  record->license = manifest->license;
  record->components = manifest->provides;
  AddOk("manifest", "ft.plugin/1", record);
  if (const auto fault = CheckManifestAbi(*manifest)) {
    AddFault("abi", *fault, record);
    return false;
  }
  if (std::find(facts.exports.begin(), facts.exports.end(), FT_PLUGIN_ENTRY_SYMBOL) ==
      facts.exports.end()) {
    AddFault("abi", {"abi.entry", fmt::format("does not export {}", FT_PLUGIN_ENTRY_SYMBOL)},
             record);
    return false;
  }
  AddOk("abi",
        fmt::format("core {}.{} on {}.{}", manifest->abi_core.major, manifest->abi_core.minor,
                    FT_ABI_MAJOR, FT_ABI_MINOR),
        record);
  return true;
}

// A plugin that was asked for by name fails with all that is known: what was looked at, and the
// cure.
Status ToStatus(const PluginRecord& record) {
  std::string text = fmt::format(
      "plugin {} ({}): {}; see: ft plugins check {}",
      record.name.empty() ? BaseName(record.path) : record.name, record.path, record.Reason(),
      record.source == PluginSource::kFlag || record.name.empty() ? record.path : record.name);
  if (record.failed_step() == nullptr) {
    text += "\n" + PluginToText(record);
  }
  switch (record.exit_code()) {
    case 4:
      return PermissionDenied("{}", text);
    case 5:
      return PluginFault("{}", text);
    case 6:
      return Internal("{}", text);
    default:
      return FailedPrecondition("{}", text);
  }
}

Status NoSuchPlugin(const std::string& plugin,
                    const std::vector<PluginRecord>& records,
                    const std::vector<PluginDir>& dirs) {
  std::vector<std::string> names, places;
  for (const PluginRecord& record : records) {
    if (!record.name.empty()) {
      names.push_back(record.name);
    }
  }
  for (const PluginDir& dir : dirs) {
    places.push_back(dir.path);
  }
  return NotFound(
      "plugin {}: there is no such plugin; there {} {}; looked in {} (a file needs its path, as in "
      "./{}.so)",
      plugin, names.size() == 1 ? "is" : "are",
      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")), fmt::join(places, ", "),
      plugin);
}

}  // namespace

PluginHostOptions PluginHostOptionsFromEnvironment() {
  PluginHostOptions options;
  const char* path = secure_getenv("FT_PLUGIN_PATH");
  const std::string_view text = path != nullptr ? path : "";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(':', at), text.size());
    if (end > at) {
      options.search_path.emplace_back(text.substr(at, end - at));
    }
    at = end + 1;
  }
  return options;
}

PluginHost::PluginHost(PluginHostOptions options) : options_(std::move(options)) {
  prefix_ = fs::path(ExeFolder()).parent_path().string();
  if (options_.built_in_dir.empty()) {
    options_.built_in_dir = JoinPath(prefix_, "lib/ft/plugins");
  }
}

Status PluginHost::Discover() {
  if (is_discovered_) {
    return Status();
  }
  is_discovered_ = true;
  FT_RETURN_IF_ERROR(AddNamedFiles());
  for (const std::string& folder : options_.search_path) {
    AddFolder(folder, PluginSource::kEnvironment);
  }
  AddFolder(options_.built_in_dir, PluginSource::kBuiltIn);
  MarkTwins();
  return ResolveNames();
}

Status PluginHost::AddNamedFiles() {
  for (const std::string& plugin : options_.plugins) {
    if (!IsPath(plugin)) {
      continue;
    }
    std::error_code error;
    if (!fs::exists(fs::symlink_status(plugin, error))) {
      return NotFound("plugin {}: there is no such file", plugin);
    }
    AddFile(fs::absolute(plugin, error).lexically_normal().string(), PluginSource::kFlag);
  }
  return Status();
}

void PluginHost::AddFolder(const std::string& path, PluginSource source) {
  PluginDir dir;
  dir.path = path;
  dir.source = source;
  dir.exists = DirectoryExists(path);
  std::vector<std::string> names;
  if (!path.starts_with('/')) {
    dir.note = "passed over: not an absolute path";  // would be looked for in the working folder
  } else if (!dir.exists) {
    dir.note = "no such folder";
  } else if (Result<std::vector<std::string>> listed = ListFiles(path); listed.ok()) {
    names = std::move(listed).value();
  } else {
    dir.note = listed.status().message();
    FT_LOG(kWarning, "plugin folder {}: {}", path, dir.note);
  }
  for (const std::string& name : names) {
    if (name.ends_with(".so") && AddFile(JoinPath(path, name), source)) {
      ++dir.num_plugins;
    }
  }
  dirs_.push_back(std::move(dir));
}

// False when the file is no plugin at all: a library without our note in a folder is passed over.
bool PluginHost::AddFile(const std::string& path, PluginSource source) {
  PluginRecord record;
  Manifest manifest;
  record.path = path;
  record.source = source;
  TrustedFile file;
  const auto trust =
      OpenTrusted(path, source, source == PluginSource::kBuiltIn ? prefix_ : std::string(), &file);
  record.size_bytes = file.content.size();
  if (trust.has_value() && file.content.empty() && StepOf(*trust) != "trust") {
    AddFault(StepOf(*trust), *trust, &record);
  } else {
    const bool is_described = Describe(file.content, &record, &manifest);
    if (source != PluginSource::kFlag && record.failed_step() != nullptr &&
        record.failed_step()->code == "manifest.absent") {
      return false;
    }
    if (trust.has_value()) {
      // Who could have written the file matters more than what is wrong with it.
      std::erase_if(record.steps, [](const PluginStep& step) { return !step.code.empty(); });
      AddFault("trust", *trust, &record);
    } else if (is_described) {
      record.path = file.path;
      AddOk("trust", "file and folders can only be written by root or their user", &record);
      record.requirements = EvaluateRequirements(manifest);
      record.state =
          record.blocking_requirement() == nullptr ? PluginState::kReady : PluginState::kBlocked;
    }
  }
  records_.push_back(std::move(record));
  manifests_.push_back(std::move(manifest));
  return true;
}

// Same id twice: the stronger place wins; two in one folder are both refused, as nobody could say
// which was meant.
void PluginHost::MarkTwins() {
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < records_.size(); ++i) {
    PluginRecord& record = records_[i];
    if (record.id.empty() || record.state == PluginState::kRefused) {
      continue;
    }
    const auto [twin, is_new] = first.emplace(record.id, i);
    if (is_new) {
      continue;
    }
    PluginRecord& other = records_[twin->second];
    const bool is_one_folder =
        fs::path(record.path).parent_path() == fs::path(other.path).parent_path() &&
        record.source == other.source;
    if (record.path != other.path && is_one_folder && record.source != PluginSource::kFlag) {
      const FileFault fault = {"file.duplicate", fmt::format("{} and {} are both {}: remove one",
                                                             other.path, record.path, record.id)};
      AddFault("file", fault, &record);
      if (other.state != PluginState::kRefused) {
        AddFault("file", fault, &other);
      }
    } else {
      record.state = PluginState::kShadowed;
    }
  }
}

// Index of the record that this word of --plugin means, shadowed ones aside; -1: none.
int64_t PluginHost::IndexOf(const std::string& plugin) const {
  std::error_code error;
  const bool is_path = IsPath(plugin);
  const std::string path =
      is_path ? fs::absolute(plugin, error).lexically_normal().string() : plugin;
  const std::string real = is_path ? fs::weakly_canonical(path, error).string() : plugin;
  const auto is_it = [&](const PluginRecord& record) {
    if (record.state == PluginState::kShadowed) {
      return false;
    }
    return is_path ? record.source == PluginSource::kFlag &&
                         (record.path == path || record.path == real)
                   : record.name == plugin || record.id == plugin;
  };
  const auto found = std::find_if(records_.begin(), records_.end(), is_it);
  return found == records_.end() ? -1 : found - records_.begin();
}

Status PluginHost::ResolveNames() {
  for (const std::string& plugin : options_.plugins) {
    const int64_t found = IndexOf(plugin);
    if (found < 0) {
      return NoSuchPlugin(plugin, records_, dirs_);
    }
    const auto index = static_cast<size_t>(found);
    if (std::find(named_.begin(), named_.end(), index) == named_.end()) {
      named_.push_back(index);
    }
  }
  return Status();
}

void PluginHost::TakeVerdict(size_t index, const ProbeVerdict& verdict) {
  PluginRecord& record = records_[index];
  if (!verdict.fault.has_value()) {
    AddOk("probe", verdict.detail, &record);
    return;
  }
  AddFault("probe", *verdict.fault, &record);
  PluginStep& step = record.steps.back();
  if (!verdict.detail.empty() && verdict.fault->code.starts_with("probe.")) {
    step.detail += "; " + verdict.detail;  // its last words
  }
  step.remedy.text = verdict.remedy;
}

void PluginHost::Probe(ProbeScope scope) {
  const ProbeOptions one = {options_.program, options_.probe_timeout_ms};
  std::vector<size_t> single, together;
  std::vector<std::string> paths;
  for (size_t i = 0; i < records_.size(); ++i) {
    const bool is_asked =
        scope == ProbeScope::kAll || std::find(named_.begin(), named_.end(), i) != named_.end();
    if (records_[i].state != PluginState::kReady || !is_asked) {
      continue;
    }
    if (records_[i].source == PluginSource::kBuiltIn) {
      together.push_back(i);
      paths.push_back(records_[i].path);
    } else {
      single.push_back(i);
    }
  }
  if (!together.empty()) {
    ProbeOptions all = one;
    all.timeout_ms = one.timeout_ms * static_cast<int>(together.size());
    const ProbeResult result = ProbePlugins(paths, all);
    for (size_t i = 0; result.is_whole && i < together.size(); ++i) {
      TakeVerdict(together[i], result.verdicts[i]);
    }
    if (!result.is_whole) {  // one of them spoiled it for all: find out which
      single.insert(single.end(), together.begin(), together.end());
    }
  }
  for (const size_t i : single) {
    TakeVerdict(i, ProbePlugins({records_[i].path}, one).verdicts.front());
  }
}

Status PluginHost::LoadAll(const PluginRegistries& registries) {
  FT_RETURN_IF_ERROR(Discover());
  Probe();
  for (size_t i = 0; i < records_.size(); ++i) {
    const PluginRecord& record = records_[i];
    if (record.state == PluginState::kShadowed) {
      continue;
    }
    Status status = record.state == PluginState::kReady ? Load(i, registries) : ToStatus(record);
    if (status.ok()) {
      continue;
    }
    if (std::find(named_.begin(), named_.end(), i) != named_.end()) {
      return status;
    }
    const std::string& message = status.message();
    FT_LOG(kWarning, "left out: {}", message.substr(0, message.find('\n')));
  }
  return Status();
}

Status PluginHost::Load(size_t index, const PluginRegistries& registries) {
  PluginRecord& record = records_[index];
  OpenedPlugin opened;
  const auto fault = OpenPlugin(
      record.path, manifests_[index], FT_MODE_SERVE, [](const char* /*stage*/) {}, &opened);
  if (fault.has_value()) {
    AddFault("load", *fault, &record);
    return ToStatus(record);
  }
  AddOk("load", opened.changed_floating_point ? "floating-point control was put back" : "loaded",
        &record);
  record.state = PluginState::kLoaded;
  FT_LOG(kDebug, "loaded plugin {} {} from {}", record.name, record.version, record.path);
  return RegisterComponents(record, opened, registries);
}

const PluginRecord* PluginHost::Find(std::string_view name) const {
  for (const PluginRecord& record : records_) {
    if (record.state != PluginState::kShadowed &&
        (record.name == name || record.id == name || record.path == name)) {
      return &record;
    }
  }
  return nullptr;
}

std::vector<const PluginRecord*> PluginHost::named() const {
  std::vector<const PluginRecord*> records;
  records.reserve(named_.size());
  for (const size_t index : named_) {
    records.push_back(&records_[index]);
  }
  return records;
}

}  // namespace ft
