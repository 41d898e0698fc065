// Strict: an unknown key, a wrong type or a name out of form is an error that names it.
#include "core/plugin_host/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "ft/plugin/moe_backend.h"
#include "ft/plugin/parser.h"
#include "ft/plugin/quantization.h"

#include "core/base/utf8.h"
#include "core/json/parse.h"

namespace ft {
namespace {

using json::Kind;
using json::Value;
using Fault = std::optional<FileFault>;

constexpr std::string_view kSchema = "ft.plugin/1";
constexpr size_t kMaxEntries = 64;
constexpr size_t kMaxTextBytes = 512;
constexpr uint32_t kHostNeedsMinor = 1;  // of FT_ABI_MAJOR: the oldest plugins that still fit

struct KeyRule {
  std::string_view key;
  Kind kind;
  bool required;
};

constexpr std::array kKeys = {
    KeyRule{"schema", Kind::kString, true},      KeyRule{"id", Kind::kString, true},
    KeyRule{"version", Kind::kString, true},     KeyRule{"title", Kind::kString, true},
    KeyRule{"license", Kind::kString, true},     KeyRule{"homepage", Kind::kString, false},
    KeyRule{"abi", Kind::kObject, true},         KeyRule{"language", Kind::kString, false},
    KeyRule{"kernel_rev", Kind::kNumber, false}, KeyRule{"provides", Kind::kArray, true},
    KeyRule{"threads", Kind::kObject, false},    KeyRule{"gpu", Kind::kObject, false},
    KeyRule{"config", Kind::kArray, false},      KeyRule{"requires", Kind::kArray, false},
    KeyRule{"fallback", Kind::kString, false},   KeyRule{"unstable", Kind::kString, false},
    KeyRule{"build_id", Kind::kString, false},
};
constexpr std::array kAbiKeys = {
    KeyRule{"core", Kind::kString, true},
    KeyRule{"need_core", Kind::kString, true},
};
constexpr std::array kComponentKeys = {
    KeyRule{"kind", Kind::kString, true},
    KeyRule{"name", Kind::kString, true},
    KeyRule{"version", Kind::kString, true},
};

Fault Invalid(std::string message) {
  return FileFault{"manifest.invalid", std::move(message)};
}

bool IsPlainText(std::string_view text) {
  return text.size() <= kMaxTextBytes && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool HasForm(std::string_view text, size_t min, size_t max, std::string_view others) {
  return text.size() >= min && text.size() <= max &&
         std::all_of(text.begin(), text.end(), [others](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  others.find(c) != std::string_view::npos;
         });
}

// Every key is known, has its kind, and none that is required is missing.
Fault CheckKeys(const Value& object, std::string_view where, std::span<const KeyRule> rules) {
  for (const json::Member& member : object.as_object()) {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&member](const KeyRule& r) { return r.key == member.key; });
    if (rule == rules.end()) {
      return Invalid(fmt::format("{}: unknown key '{}'", where, ReplaceInvalidUtf8(member.key)));
    }
    if (member.value.kind() != rule->kind) {
      return Invalid(fmt::format("{}: '{}' must be a {}, it is a {}", where, member.key,
                                 json::KindName(rule->kind), json::KindName(member.value.kind())));
    }
    if (member.value.is_string() && !IsPlainText(member.value.as_string())) {
      return Invalid(fmt::format("{}: '{}' has control characters or more than {} bytes", where,
                                 member.key, kMaxTextBytes));
    }
  }
  for (const KeyRule& rule : rules) {
    if (rule.required && object.Find(rule.key) == nullptr) {
      return Invalid(fmt::format("{}: '{}' is missing", where, rule.key));
    }
  }
  return std::nullopt;
}

std::string TextOf(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

Fault ReadAbi(const Value& abi, Manifest* manifest) {
  if (Fault fault = CheckKeys(abi, "manifest.abi", kAbiKeys)) {
    return fault;
  }
  const auto core = ParsePluginVersion(TextOf(abi, "core"));
  const auto need = ParsePluginVersion(TextOf(abi, "need_core"));
  if (!core.has_value() || !need.has_value()) {
    return Invalid("manifest.abi: core and need_core are \"MAJOR.MINOR\"");
  }
  manifest->abi_core = *core;
  manifest->abi_need_core = *need;
  return std::nullopt;
}

Fault ReadProvides(const Value& provides, Manifest* manifest) {
  if (provides.as_array().empty() || provides.as_array().size() > kMaxEntries) {
    return Invalid(fmt::format("manifest.provides: {} components (1 to {})",
                               provides.as_array().size(), kMaxEntries));
  }
  for (const Value& entry : provides.as_array()) {
    if (!entry.is_object()) {
      return Invalid("manifest.provides: every entry is an object");
    }
    if (Fault fault = CheckKeys(entry, "manifest.provides", kComponentKeys)) {
      return fault;
    }
    PluginComponent component = {TextOf(entry, "kind"), TextOf(entry, "name"),
                                 TextOf(entry, "version")};
    if (!HasForm(component.kind, 1, 32, "_") || !HasForm(component.name, 1, 32, "_") ||
        !ParsePluginVersion(component.version).has_value()) {
      return Invalid(fmt::format(
          "manifest.provides: {}/{} {}: kind and name match [a-z0-9_]{{1,32}}, version MAJOR.MINOR",
          component.kind, component.name, component.version));
    }
    for (const PluginComponent& other : manifest->provides) {
      if (other.kind == component.kind && other.name == component.name) {
        return Invalid(
            fmt::format("manifest.provides: {}/{} is there twice", other.kind, other.name));
      }
    }
    manifest->provides.push_back(std::move(component));
  }
  return std::nullopt;
}

Fault ReadRequires(const Value& entries, Manifest* manifest) {
  if (entries.as_array().size() > kMaxEntries) {
    return Invalid(fmt::format("manifest.requires: more than {} entries", kMaxEntries));
  }
  for (const Value& entry : entries.as_array()) {
    ManifestRequirement requirement;
    requirement.id = TextOf(entry, "id");
    requirement.kind = TextOf(entry, "kind");
    requirement.severity = entry.Find("severity") == nullptr ? "block" : TextOf(entry, "severity");
    requirement.why = TextOf(entry, "why");
    requirement.spec = entry;
    const bool has_severity = requirement.severity == "block" ||
                              requirement.severity == "degrade" || requirement.severity == "note";
    if (!entry.is_object() || !HasForm(requirement.id, 1, 32, "_-") ||
        !HasForm(requirement.kind, 1, 32, "_") || !has_severity || !IsPlainText(requirement.why)) {
      return Invalid(
          "manifest.requires: every entry has an id, a kind, and a severity that is block, degrade "
          "or note");
    }
    for (const ManifestRequirement& other : manifest->requirements) {
      if (other.id == requirement.id) {
        return Invalid(fmt::format("manifest.requires: id '{}' is there twice", other.id));
      }
    }
    manifest->requirements.push_back(std::move(requirement));
  }
  return std::nullopt;
}

Fault ReadDocument(Manifest* manifest) {
  const Value& document = manifest->document;
  if (!document.is_object()) {
    return Invalid("the manifest is no JSON object");
  }
  // Before anything else: keys of a newer schema are not errors of this one.
  const std::string schema = TextOf(document, "schema");
  if (schema != kSchema && schema.starts_with("ft.plugin/") && IsPlainText(schema)) {
    return FileFault{
        "manifest.schema",
        fmt::format("schema {}, this ft reads {}: it needs a newer ft", schema, kSchema)};
  }
  if (Fault fault = CheckKeys(document, "manifest", kKeys)) {
    return fault;
  }
  if (schema != kSchema) {
    return Invalid(fmt::format("manifest: schema '{}' is not {}", schema, kSchema));
  }
  manifest->id = TextOf(document, "id");
  if (!HasForm(manifest->id, 3, 64, ".-") || manifest->id.back() == '.') {
    return Invalid(fmt::format("manifest: id '{}' must match [a-z0-9.-]{{3,64}}", manifest->id));
  }
  const size_t dot = manifest->id.rfind('.');
  manifest->name = dot == std::string::npos ? manifest->id : manifest->id.substr(dot + 1);
  manifest->version = TextOf(document, "version");
  manifest->title = TextOf(document, "title");
  manifest->license = TextOf(document, "license");
  manifest->build_id = TextOf(document, "build_id");
  if (Fault fault = ReadAbi(*document.Find("abi"), manifest)) {
    return fault;
  }
  if (Fault fault = ReadProvides(*document.Find("provides"), manifest)) {
    return fault;
  }
  const Value* entries = document.Find("requires");
  return entries == nullptr ? std::nullopt : ReadRequires(*entries, manifest);
}

struct KindVersion {
  std::string_view kind;
  PluginVersion version;
};

constexpr std::array kKinds = {
    KindVersion{FT_KIND_MOE_BACKEND, {FT_MOE_BACKEND_MAJOR, FT_MOE_BACKEND_MINOR}},
    KindVersion{FT_KIND_QUANTIZATION, {FT_QUANTIZATION_MAJOR, FT_QUANTIZATION_MINOR}},
    KindVersion{FT_KIND_REASONING_PARSER, {FT_PARSER_MAJOR, FT_PARSER_MINOR}},
    KindVersion{FT_KIND_TOOL_PARSER, {FT_PARSER_MAJOR, FT_PARSER_MINOR}},
};

}  // namespace

std::optional<PluginVersion> ParsePluginVersion(std::string_view text) {
  PluginVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') {
    return std::nullopt;
  }
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc() || minor.ptr != end) {
    return std::nullopt;
  }
  return version;
}

std::optional<FileFault> ReadManifest(const std::vector<std::string_view>& notes,
                                      Manifest* manifest) {
  *manifest = Manifest();
  if (notes.empty()) {
    return FileFault{"manifest.absent",
                     "no ft manifest inside: not an ft plugin, or built without ft_add_plugin"};
  }
  if (notes.size() > 1) {
    return FileFault{"manifest.multiple",
                     fmt::format("{} manifests inside, want one", notes.size())};
  }
  if (notes[0].size() > kMaxManifestBytes) {
    return FileFault{"manifest.too_big", fmt::format("the manifest has {} bytes, at most {}",
                                                     notes[0].size(), kMaxManifestBytes)};
  }
  json::ParseOptions options;
  options.max_bytes = kMaxManifestBytes;
  options.max_depth = 16;
  Result<Value> document = json::Parse(notes[0], options);
  if (!document.ok()) {
    return Invalid("the manifest is not JSON: " + document.status().message());
  }
  manifest->document = std::move(document).value();
  return ReadDocument(manifest);
}

std::optional<FileFault> CheckManifestAbi(const Manifest& manifest) {
  const PluginVersion core = manifest.abi_core;
  const PluginVersion need = manifest.abi_need_core;
  if (core.major != FT_ABI_MAJOR || need.major != FT_ABI_MAJOR) {
    return FileFault{"abi.major",
                     fmt::format("built for plugin ABI {}.{}, this ft speaks {}.{}: rebuild it",
                                 core.major, core.minor, FT_ABI_MAJOR, FT_ABI_MINOR)};
  }
  if (need.minor > FT_ABI_MINOR) {
    return FileFault{
        "abi.minor",
        fmt::format("needs plugin ABI {}.{} or later, this ft speaks {}.{}: it needs a "
                    "newer ft",
                    need.major, need.minor, FT_ABI_MAJOR, FT_ABI_MINOR)};
  }
  if (core.minor < kHostNeedsMinor) {
    return FileFault{
        "abi.minor",
        fmt::format("built for plugin ABI {}.{}, this ft needs {}.{} or later: rebuild "
                    "it",
                    core.major, core.minor, FT_ABI_MAJOR, kHostNeedsMinor)};
  }
  for (const PluginComponent& component : manifest.provides) {
    const auto known = std::find_if(kKinds.begin(), kKinds.end(), [&component](const auto& kind) {
      return kind.kind == component.kind;
    });
    if (known == kKinds.end()) {
      return FileFault{"abi.kind", fmt::format("{}/{}: this ft knows no such kind", component.kind,
                                               component.name)};
    }
    const PluginVersion version = *ParsePluginVersion(component.version);
    // Below 1.0 nothing is promised between minors.
    const bool fits = version.major == known->version.major &&
                      (version.major > 0 || version.minor == known->version.minor);
    if (!fits) {
      return FileFault{"abi.component",
                       fmt::format("{}/{} speaks {} {}, this ft {}.{}: rebuild it for this ft",
                                   component.kind, component.name, component.kind,
                                   component.version, known->version.major, known->version.minor)};
    }
  }
  return std::nullopt;
}

}  // namespace ft
