// Where a checkpoint keeps its chat templates and special tokens.
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/text/chat_template.h"

namespace ft::text {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = size_t{64} << 20;

constexpr std::array<std::string_view, 7> kTokenNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// The bytes of a file that must be there.
Result<std::string> ReadFile(const fs::path& path, size_t max_bytes) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) {
    return DataLoss("{}: cannot be read: {}", path.string(), error.message());
  }
  if (size > max_bytes) {
    return DataLoss("{}: {} bytes, more than the limit of {}", path.string(), size, max_bytes);
  }
  std::string text(static_cast<size_t>(size), '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    return DataLoss("{}: cannot be read", path.string());
  }
  return text;
}

Result<json::Value> ReadJson(const fs::path& path) {
  FT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  json::ParseOptions options;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;
  Result<json::Value> value = json::Parse(text, options);
  if (!value.ok()) {
    return value.status().WithContext(path.string());
  }
  if (!value->is_object()) {
    return DataLoss("{}: must hold an object, not {}", path.string(),
                    json::KindName(value->kind()));
  }
  return value;
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

using Sources = std::map<std::string, std::string>;

// `chat_template` of a .json file: text, or a list of {"name", "template"}. Says in `has_names`
// whether it was a list.
Status AddFromConfig(const json::Value& config,
                     const std::string& path,
                     Sources* sources,
                     bool* has_names) {
  const json::Value* entry = config.Find("chat_template");
  if (entry == nullptr || entry->is_null()) {
    return {};
  }
  if (entry->is_string()) {
    (*sources)["default"] = entry->as_string();
    return {};
  }
  if (!entry->is_array()) {
    return DataLoss("{}: chat_template must be text or a list, not {}", path,
                    json::KindName(entry->kind()));
  }
  *has_names = true;
  for (const json::Value& named : entry->as_array()) {
    const json::Value* name = named.Find("name");
    const json::Value* text = named.Find("template");
    if (name == nullptr || text == nullptr || !name->is_string() || !text->is_string()) {
      return DataLoss("{}: an entry of chat_template must have a name and a template", path);
    }
    (*sources)[name->as_string()] = text->as_string();
  }
  return {};
}

Status AddTokens(const json::Value& config, std::map<std::string, std::string>* tokens) {
  for (const std::string_view name : kTokenNames) {
    const json::Value* token = config.Find(name);
    if (token != nullptr && token->is_object()) {
      token = token->Find("content");
    }
    if (token != nullptr && token->is_string()) {
      (*tokens)[std::string(name)] = token->as_string();
    }
  }
  return {};
}

// Templates in files of their own: chat_template.jinja and additional_chat_templates/NAME.jinja.
Result<Sources> ReadTemplateFiles(const fs::path& dir) {
  Sources sources;
  if (Exists(dir / "chat_template.jinja")) {
    FT_ASSIGN_OR_RETURN(sources["default"],
                        ReadFile(dir / "chat_template.jinja", kMaxTemplateBytes));
  }
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(dir / "additional_chat_templates", error)) {
    if (entry.path().extension() == ".jinja") {
      FT_ASSIGN_OR_RETURN(sources[entry.path().stem().string()],
                          ReadFile(entry.path(), kMaxTemplateBytes));
    }
  }
  return sources;
}

}  // namespace

Result<ChatTemplateSet> ChatTemplateSet::Make(
    const std::map<std::string, std::string>& named,
    const std::map<std::string, std::string>& special_tokens) {
  ChatTemplateSet set;
  set.special_tokens_ = special_tokens;
  set.has_names_ = named.size() != 1 || !named.contains("default");
  for (const auto& [name, source] : named) {
    Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
    if (!parsed.ok()) {
      return parsed.status().WithContext("chat template '" + name + "'");
    }
    set.templates_.emplace(name, *std::move(parsed));
  }
  return set;
}

Result<ChatTemplateSet> ChatTemplateSet::Load(const std::string& model_dir) {
  const fs::path dir(model_dir);
  std::error_code error;
  if (!fs::is_directory(dir, error)) {
    return NotFound("{}: no such directory", model_dir);
  }
  FT_ASSIGN_OR_RETURN(Sources sources, ReadTemplateFiles(dir));
  bool has_names = false;
  std::map<std::string, std::string> tokens;
  json::Value config = json::Value::MakeObject();
  if (Exists(dir / "tokenizer_config.json")) {
    FT_ASSIGN_OR_RETURN(config, ReadJson(dir / "tokenizer_config.json"));
  }
  // Later files win; an old special_tokens_map.json counts only beside an old config.
  FT_RETURN_IF_ERROR(AddTokens(config, &tokens));
  if (config.Find("added_tokens_decoder") == nullptr && Exists(dir / "special_tokens_map.json")) {
    FT_ASSIGN_OR_RETURN(const json::Value map, ReadJson(dir / "special_tokens_map.json"));
    FT_RETURN_IF_ERROR(AddTokens(map, &tokens));
  }
  if (sources.empty()) {
    FT_RETURN_IF_ERROR(
        AddFromConfig(config, (dir / "tokenizer_config.json").string(), &sources, &has_names));
  }
  if (sources.empty() && Exists(dir / "chat_template.json")) {
    FT_ASSIGN_OR_RETURN(const json::Value legacy, ReadJson(dir / "chat_template.json"));
    FT_RETURN_IF_ERROR(
        AddFromConfig(legacy, (dir / "chat_template.json").string(), &sources, &has_names));
  }
  Result<ChatTemplateSet> set = Make(sources, tokens);
  if (!set.ok()) {
    return set.status().WithContext(model_dir);
  }
  set->has_names_ |= has_names;
  return set;
}

std::string_view ChatTemplateSet::default_source() const {
  if (const auto found = templates_.find("default"); found != templates_.end()) {
    return found->second.source();
  }
  return templates_.size() == 1 ? std::string_view(templates_.begin()->second.source())
                                : std::string_view();
}

}  // namespace ft::text
