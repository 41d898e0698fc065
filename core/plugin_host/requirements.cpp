// Each kind is one function from the entry's parameters to a verdict with what was looked at.
#include "core/plugin_host/requirements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <sys/utsname.h>

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include "ft/plugin/abi.h"

namespace ft {
namespace {

using json::Value;

std::string TextOf(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

void Leave(std::string reason, RequirementRecord* record) {
  record->verdict = Verdict::kUnchecked;
  record->evidence.push_back({"the manifest", "rejected", std::move(reason)});
}

// ---- cpu_isa
// -------------------------------------------------------------------------------------

std::vector<std::string> LevelFlags(std::string_view level) {
  std::vector<std::string> flags = {"cx16",   "lahf_lm", "popcnt", "pni",
                                    "sse4_1", "sse4_2",  "ssse3"};
  if (level == "x86-64-v2") {
    return flags;
  }
  flags.insert(flags.end(),
               {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"});
  if (level == "x86-64-v3") {
    return flags;
  }
  flags.insert(flags.end(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  return level == "x86-64-v4" ? flags : std::vector<std::string>();
}

// The alternatives of the entry; empty when it cannot be read.
std::vector<std::vector<std::string>> ReadAlternatives(const Value& spec) {
  std::vector<std::vector<std::string>> alternatives;
  if (const std::string level = TextOf(spec, "level"); !level.empty()) {
    alternatives.push_back(LevelFlags(level));
    if (alternatives.back().empty()) {
      alternatives.clear();
    }
    return alternatives;
  }
  const Value* any_of = spec.Find("any_of");
  if (any_of == nullptr || !any_of->is_array()) {
    return {};
  }
  for (const Value& list : any_of->as_array()) {
    if (!list.is_array() || list.as_array().empty()) {
      return {};
    }
    std::vector<std::string> flags;
    for (const Value& flag : list.as_array()) {
      if (!flag.is_string()) {
        return {};
      }
      flags.push_back(flag.as_string());
    }
    alternatives.push_back(std::move(flags));
  }
  return alternatives;
}

std::optional<std::set<std::string>> ReadCpuFlags(const std::string& path) {
  std::ifstream in(path);  // files of /proc have no length to ask for
  std::string text;
  while (std::getline(in, text) && !text.starts_with("flags")) {
  }
  const size_t colon = text.find(':');
  if (!in || colon == std::string::npos) {
    return std::nullopt;
  }
  const std::string_view line = std::string_view(text).substr(colon + 1);
  std::set<std::string> flags;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) {
      flags.emplace(line.substr(at, end - at));
    }
    at = end + 1;
  }
  return flags;
}

void CheckCpuIsa(const Value& spec, const RequirementSources& sources, RequirementRecord* record) {
  const auto alternatives = ReadAlternatives(spec);
  if (alternatives.empty()) {
    Leave("cpu_isa wants any_of (lists of flags) or level (x86-64-v2, -v3, -v4)", record);
    return;
  }
  std::vector<std::string> wants;
  for (const auto& flags : alternatives) {
    wants.push_back(fmt::format("{}", fmt::join(flags, "+")));
  }
  record->want = fmt::format("a CPU with {}", fmt::join(wants, ", or "));
  const auto have = ReadCpuFlags(sources.cpuinfo);
  if (!have.has_value()) {
    record->verdict = Verdict::kUnchecked;
    record->evidence.push_back({sources.cpuinfo, "absent", "no line of CPU flags"});
    return;
  }
  record->verdict = Verdict::kMissing;
  for (const auto& flags : alternatives) {
    std::vector<std::string> lacking;
    std::copy_if(flags.begin(), flags.end(), std::back_inserter(lacking),
                 [&have](const std::string& flag) { return !have->contains(flag); });
    if (lacking.empty()) {
      record->verdict = Verdict::kOk;
      record->evidence.push_back(
          {sources.cpuinfo, "found", fmt::format("{}", fmt::join(flags, " "))});
      return;
    }
    record->evidence.push_back(
        {sources.cpuinfo, "absent", fmt::format("lacks {}", fmt::join(lacking, " "))});
  }
  record->remedy.text =
      "no setting cures this: use a machine whose CPU has these, or another plugin";
}

// ---- os, abi
// -------------------------------------------------------------------------------------

// "5.10.0-9-amd64" -> {5, 10, 0}: as many numbers as it begins with.
std::vector<int> Numbers(std::string_view text) {
  std::vector<int> numbers;
  if (text.starts_with(">=")) {
    text.remove_prefix(2);
  }
  while (numbers.size() < 4) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) {
      break;
    }
    numbers.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.')) {
      break;
    }
    text.remove_prefix(1);
  }
  return numbers;
}

void CheckOs(const Value& spec, RequirementRecord* record) {
  utsname system = {};
  uname(&system);

  struct Part {
    const char* key;
    std::string have;
    bool is_version;
  };

  const std::array parts = {Part{"arch", system.machine, false},
                            Part{"kernel", system.release, true},
                            Part{"glibc", gnu_get_libc_version(), true}};
  std::vector<std::string> wants;
  record->verdict = Verdict::kOk;
  for (const Part& part : parts) {
    const std::string want = TextOf(spec, part.key);
    if (want.empty()) {
      continue;
    }
    wants.push_back(fmt::format("{} {}", part.key, want));
    const bool holds = part.is_version
                           ? !Numbers(want).empty() && Numbers(part.have) >= Numbers(want)
                           : part.have == want;
    record->evidence.push_back({part.key, holds ? "found" : "rejected", part.have});
    if (!holds) {
      record->verdict = Verdict::kMismatch;
      record->remedy.text = fmt::format("needs a system with {} {}", part.key, want);
    }
  }
  record->want = fmt::format("{}", fmt::join(wants, ", "));
  if (wants.empty()) {
    Leave("os wants one of arch, kernel, glibc", record);
  }
}

void CheckAbi(const Value& spec, RequirementRecord* record) {
  std::string want = TextOf(spec, "core");
  if (want.starts_with(">=")) {
    want.erase(0, 2);
  }
  const auto version = ParsePluginVersion(want);
  if (!version.has_value()) {
    Leave("abi wants core: \"MAJOR.MINOR\"", record);
    return;
  }
  record->want = fmt::format("plugin ABI {} or later", want);
  const bool holds = version->major == FT_ABI_MAJOR && version->minor <= FT_ABI_MINOR;
  record->verdict = holds ? Verdict::kOk : Verdict::kMismatch;
  record->evidence.push_back({"this ft", holds ? "found" : "rejected",
                              fmt::format("speaks {}.{}", FT_ABI_MAJOR, FT_ABI_MINOR)});
  if (!holds) {
    record->remedy.text = "use a newer ft, or a plugin built for this one";
  }
}

RequirementRecord Evaluate(const ManifestRequirement& requirement,
                           const RequirementSources& sources) {
  RequirementRecord record;
  record.id = requirement.id;
  record.kind = requirement.kind;
  record.severity = requirement.severity;
  record.why = requirement.why;
  if (requirement.spec.Find("when") != nullptr) {
    record.want = "what the manifest says under a condition";
    Leave("this ft does not evaluate `when` yet", &record);
  } else if (requirement.kind == "cpu_isa") {
    CheckCpuIsa(requirement.spec, sources, &record);
  } else if (requirement.kind == "os") {
    CheckOs(requirement.spec, &record);
  } else if (requirement.kind == "abi") {
    CheckAbi(requirement.spec, &record);
  } else {
    record.want = fmt::format("what kind '{}' means", requirement.kind);
    Leave(fmt::format("this ft does not know requirements of kind '{}'", requirement.kind),
          &record);
    record.remedy.text = "use an ft that knows this kind, or another plugin";
  }
  return record;
}

}  // namespace

std::vector<RequirementRecord> EvaluateRequirements(const Manifest& manifest,
                                                    const RequirementSources& sources) {
  std::vector<RequirementRecord> records;
  for (const ManifestRequirement& requirement : manifest.requirements) {
    records.push_back(Evaluate(requirement, sources));
  }
  return records;
}

}  // namespace ft
