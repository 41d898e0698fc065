#include "core/plugin_host/load.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include <dlfcn.h>

#include <fmt/format.h>

#include "ft/plugin/moe_backend.h"
#include "ft/plugin/parser.h"
#include "ft/plugin/quantization.h"

#include "core/base/utf8.h"
#include "core/plugin_host/side_effects.h"

namespace ft {
namespace {

using Fault = std::optional<FileFault>;

constexpr uint64_t kMaxTextBytes = 512;
constexpr int kMaxExtensions = 64;

Fault TableFault(std::string message) {
  return FileFault{"abi.table", std::move(message)};
}

// No exception may cross the boundary. One that does is the plugin's fault, not our end.
template <typename Call>
Fault Guarded(const char* where, Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const std::exception& error) {
    return FileFault{"load.exception", fmt::format("an exception left {}: {}", where,
                                                   PluginText(error.what(), kMaxTextBytes))};
  } catch (...) {
    return FileFault{"load.exception", fmt::format("an exception left {}", where)};
  }
}

bool ReadText(ft_str text, std::string_view* out) {
  if (text.len > kMaxTextBytes || (text.ptr == nullptr && text.len != 0)) {
    return false;
  }
  *out = text.len == 0 ? std::string_view() : std::string_view(text.ptr, text.len);
  return true;
}

// Size, tag and the chain of extensions of a struct that the plugin handed over.
Fault CheckHeader(const ft_hdr* header, uint32_t least, uint32_t tag, std::string_view what) {
  if (header == nullptr) {
    return TableFault(fmt::format("{} is NULL", what));
  }
  if (header->tag != tag) {
    return TableFault(fmt::format("{}: tag {:#x}, want {:#x}", what, header->tag, tag));
  }
  if (header->size < least) {
    return TableFault(fmt::format("{}: size {}, want {} or more", what, header->size, least));
  }
  int length = 0;
  for (const ft_ext* extension = header->next; extension != nullptr; extension = extension->next) {
    if (++length > kMaxExtensions) {
      return TableFault(fmt::format("{}: more than {} extensions", what, kMaxExtensions));
    }
  }
  return std::nullopt;
}

struct Member {
  size_t offset;
  const char* name;
};

#define FT_MEMBER(type, name)   \
  Member {                      \
    offsetof(type, name), #name \
  }

constexpr std::array kQuantizationMembers = {
    FT_MEMBER(ft_quantization, match),
    FT_MEMBER(ft_quantization, layout),
    FT_MEMBER(ft_quantization, error_bound),
    FT_MEMBER(ft_quantization, packed_bytes),
    FT_MEMBER(ft_quantization, pack),
    FT_MEMBER(ft_quantization, dequantize),
    FT_MEMBER(ft_quantization, matmul),
    FT_MEMBER(ft_quantization, matmul_reference),
    FT_MEMBER(ft_quantization, expert_bytes),
    FT_MEMBER(ft_quantization, pack_expert),
    FT_MEMBER(ft_quantization, expert_scratch_bytes),
    FT_MEMBER(ft_quantization, expert_mlp),
    FT_MEMBER(ft_quantization, expert_mlp_reference),
};
constexpr std::array kMoeBackendMembers = {
    FT_MEMBER(ft_moe_backend, plan),    FT_MEMBER(ft_moe_backend, create),
    FT_MEMBER(ft_moe_backend, forward), FT_MEMBER(ft_moe_backend, counters),
    FT_MEMBER(ft_moe_backend, destroy),
};
constexpr std::array kParserMembers = {
    FT_MEMBER(ft_parser, matches),      FT_MEMBER(ft_parser, marker),
    FT_MEMBER(ft_parser, prompt_state), FT_MEMBER(ft_parser, create),
    FT_MEMBER(ft_parser, feed),         FT_MEMBER(ft_parser, finish),
    FT_MEMBER(ft_parser, reset),        FT_MEMBER(ft_parser, destroy),
};
#undef FT_MEMBER

struct KindTable {
  std::string_view kind;
  uint32_t tag;
  uint32_t least_size;
  std::span<const Member> members;
};

const std::array<KindTable, 4>& KindTables() {
  static const std::array<KindTable, 4> kTables = {
      KindTable{FT_KIND_QUANTIZATION, FT_TAG_QUANTIZATION,
                FT_SIZE_THRU(ft_quantization, expert_mlp_reference), kQuantizationMembers},
      KindTable{FT_KIND_MOE_BACKEND, FT_TAG_MOE_BACKEND, FT_SIZE_THRU(ft_moe_backend, destroy),
                kMoeBackendMembers},
      KindTable{FT_KIND_REASONING_PARSER, FT_TAG_PARSER, FT_SIZE_THRU(ft_parser, destroy),
                kParserMembers},
      KindTable{FT_KIND_TOOL_PARSER, FT_TAG_PARSER, FT_SIZE_THRU(ft_parser, destroy),
                kParserMembers},
  };
  return kTables;
}

Fault CheckVtable(const ft_component& component, std::string_view kind, std::string_view what) {
  const auto table = std::find_if(KindTables().begin(), KindTables().end(),
                                  [kind](const KindTable& t) { return t.kind == kind; });
  if (table == KindTables().end()) {
    return FileFault{"abi.kind", fmt::format("{}: this ft knows no such kind", what)};
  }
  const auto* header = static_cast<const ft_hdr*>(component.vtable);
  if (Fault fault = CheckHeader(header, table->least_size, table->tag,
                                fmt::format("the table of {}", what))) {
    return fault;
  }
  for (const Member& member : table->members) {
    void* function = nullptr;
    std::memcpy(&function, static_cast<const char*>(component.vtable) + member.offset,
                sizeof(function));
    if (function == nullptr) {
      return TableFault(fmt::format("{}: its function {} is NULL", what, member.name));
    }
  }
  if (kind == FT_KIND_QUANTIZATION) {
    std::string_view format, name;
    const auto* quantization = static_cast<const ft_quantization*>(component.vtable);
    if (!ReadText(quantization->format, &format) || !ReadText(component.name, &name) ||
        format != name) {
      return TableFault(fmt::format("{}: the table's format is another name", what));
    }
  }
  return std::nullopt;
}

Fault Disagrees(std::string_view what, std::string_view table, std::string_view manifest) {
  return FileFault{"manifest.disagrees",
                   fmt::format("the table says {} '{}', the manifest '{}'", what,
                               PluginText(std::string(table).c_str(), kMaxTextBytes), manifest)};
}

Fault CheckComponent(const ft_component* component,
                     const PluginComponent& want,
                     size_t index,
                     OpenedPlugin* opened) {
  const std::string where = fmt::format("component {}", index);
  if (Fault fault = CheckHeader(component == nullptr ? nullptr : &component->hdr,
                                FT_SIZE_THRU(ft_component, vtable), FT_TAG_COMPONENT, where)) {
    return fault;
  }
  std::string_view kind, name;
  if (!ReadText(component->kind, &kind) || !ReadText(component->name, &name)) {
    return TableFault(where + ": kind or name is no text");
  }
  if (kind != want.kind) {
    return Disagrees("kind of a component", kind, want.kind);
  }
  if (name != want.name) {
    return Disagrees("name of a component", name, want.name);
  }
  const std::string version = fmt::format("{}.{}", component->major, component->minor);
  if (version != want.version) {
    return Disagrees(fmt::format("version of {}/{}", kind, name), version, want.version);
  }
  opened->components.push_back(component);
  return CheckVtable(*component, kind, fmt::format("{}/{}", kind, name));
}

Fault CheckTable(const ft_plugin* table, const Manifest& manifest, OpenedPlugin* opened) {
  if (Fault fault =
          CheckHeader(table == nullptr ? nullptr : &table->hdr, FT_SIZE_THRU(ft_plugin, stop),
                      FT_TAG_PLUGIN, "the plugin's table")) {
    return fault;
  }
  if (table->abi_major != FT_ABI_MAJOR) {
    return FileFault{"abi.major",
                     fmt::format("its table is of plugin ABI {}.{}, this ft speaks {}.{}",
                                 table->abi_major, table->abi_minor, FT_ABI_MAJOR, FT_ABI_MINOR)};
  }
  if (table->need_minor > FT_ABI_MINOR) {
    return FileFault{"abi.minor",
                     fmt::format("its table needs plugin ABI {}.{}, this ft speaks {}.{}",
                                 FT_ABI_MAJOR, table->need_minor, FT_ABI_MAJOR, FT_ABI_MINOR)};
  }
  std::string_view id, version, build_id;
  if (!ReadText(table->id, &id) || !ReadText(table->version, &version) ||
      !ReadText(table->build_id, &build_id)) {
    return TableFault("id, version or build_id is no text");
  }
  if (id != manifest.id) {
    return Disagrees("id", id, manifest.id);
  }
  if (version != manifest.version) {
    return Disagrees("version", version, manifest.version);
  }
  if (build_id != manifest.build_id) {
    return Disagrees("build_id", build_id, manifest.build_id);
  }
  if (table->n_components != manifest.provides.size() || table->components == nullptr) {
    return Disagrees("number of components", std::to_string(table->n_components),
                     std::to_string(manifest.provides.size()));
  }
  for (size_t i = 0; i < manifest.provides.size(); ++i) {
    if (Fault fault = CheckComponent(table->components[i], manifest.provides[i], i, opened)) {
      return fault;
    }
  }
  return std::nullopt;
}

ft_error NewError() {
  ft_error error = {};
  error.hdr = {sizeof(ft_error), FT_TAG_ERROR, nullptr};
  return error;
}

std::string WordsOf(const ft_error& error) {
  const std::string message = PluginText(error.message, sizeof(error.message));
  return message.empty() ? fmt::format("code {}, without a word", error.code) : message;
}

Fault Enter(void* library,
            const Manifest& manifest,
            uint32_t mode,
            const StageSink& stage,
            OpenedPlugin* opened) {
  void* symbol = dlsym(library, FT_PLUGIN_ENTRY_SYMBOL);
  if (symbol == nullptr) {
    return FileFault{"abi.entry", fmt::format("has no {}", FT_PLUGIN_ENTRY_SYMBOL)};
  }
  ft_plugin_entry_fn entry = nullptr;
  static_assert(sizeof(entry) == sizeof(symbol));
  std::memcpy(&entry, &symbol, sizeof(entry));

  ft_error error = NewError();
  stage("entry");
  if (Fault fault = Guarded(FT_PLUGIN_ENTRY_SYMBOL,
                            [&] { opened->table = entry(PluginHostTable(mode), &error); })) {
    return fault;
  }
  if (opened->table == nullptr) {
    return FileFault{"load.refused", "its entry refused: " + WordsOf(error)};
  }
  stage("describe");
  return CheckTable(opened->table, manifest, opened);
}

Fault Start(uint32_t mode, OpenedPlugin* opened) {
  if (opened->table->start == nullptr) {
    return std::nullopt;
  }
  ft_error error = NewError();
  ft_code code = FT_OK;
  if (Fault fault = Guarded("start", [&] {
        code = opened->table->start(PluginHostTable(mode), &opened->state, &error);
      })) {
    return fault;
  }
  if (code != FT_OK) {
    return FileFault{"load.start", "its start failed: " + WordsOf(error)};
  }
  return std::nullopt;
}

}  // namespace

std::string PluginText(const char* text, size_t max_bytes) {
  std::string out;
  for (const char c : ReplaceInvalidUtf8({text, strnlen(text, max_bytes)})) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<FileFault> OpenPlugin(const std::string& path,
                                    const Manifest& manifest,
                                    uint32_t mode,
                                    const StageSink& stage,
                                    OpenedPlugin* opened) {
  *opened = OpenedPlugin();
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    return FileFault{"load.twice", "the same file is loaded already"};
  }
  const ProcessState before = ProcessState::Take();
  stage("open");
  void* library = nullptr;
  Fault fault = Guarded("its static constructors", [&] {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  });
  if (!fault.has_value() && library == nullptr) {
    const char* words = dlerror();
    fault = FileFault{"load.failed",
                      PluginText(words != nullptr ? words : "dlopen failed", kMaxTextBytes)};
  }
  if (!fault.has_value()) {
    fault = Enter(library, manifest, mode, stage, opened);
  }
  if (!fault.has_value()) {
    stage("start");
    fault = Start(mode, opened);
  }
  std::vector<std::string> changes = before.CompareAndRestore();
  opened->changed_floating_point = std::erase(changes, kFloatingPointChange) != 0;
  if (!fault.has_value() && !changes.empty()) {
    fault = FileFault{"load.side_effect",
                      fmt::format("loading it changed {}", fmt::join(changes, ", "))};
  }
  return fault;
}

void StopPlugin(const OpenedPlugin& opened) {
  if (opened.table != nullptr && opened.table->stop != nullptr) {
    static_cast<void>(Guarded("stop", [&] { opened.table->stop(opened.state); }));
  }
}

}  // namespace ft
