#include "core/checkpoint/shard_list.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/json/parse.h"
#include "core/json/value.h"

namespace ft {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::string_view kSuffix = ".safetensors";
constexpr size_t kMaxShards = 4096;
constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;

// A shard lies in the checkpoint's folder or below it.
bool IsInsideFolder(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string_view::npos) {
    return false;
  }
  for (size_t at = 0; at <= name.size();) {
    const size_t slash = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, slash - at);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    at = slash + 1;
  }
  return true;
}

uint64_t BytesOnDisk(const std::string& path) {
  const Result<FileDescriptor> file = OpenFile(path);
  if (!file.ok()) {
    return 0;
  }
  const Result<uint64_t> bytes = FileBytes(file.value(), path);
  return bytes.ok() ? bytes.value() : 0;
}

// All shards that an index names must be there; says what is missing and what is not.
Status CheckShardsExist(const ShardList& list) {
  std::vector<size_t> missing;
  uint64_t bytes_there = 0;
  for (size_t i = 0; i < list.paths.size(); ++i) {
    if (FileExists(list.paths[i])) {
      bytes_there += BytesOnDisk(list.paths[i]);
    } else {
      missing.push_back(i);
    }
  }
  if (missing.empty()) {
    return Status();
  }
  const size_t first = missing.front();
  const auto num_tensors =
      std::count_if(list.index_entries.begin(), list.index_entries.end(),
                    [first](const auto& entry) { return entry.second == first; });
  return DataLoss(
      "{}: missing (0 bytes): {} puts {} tensors there; {} of {} shards are there with {} bytes "
      "({}). Fetch the missing files again",
      list.paths[first], BaseName(list.index_path), num_tensors, list.paths.size() - missing.size(),
      list.paths.size(), bytes_there, HumanBytes(bytes_there));
}

// "model-00001-of-00003.safetensors" → {"model-#-of-00003.safetensors", 1, 3}.
struct NumberedName {
  std::string family;
  int number = 0;
  int total = 0;
};

std::optional<NumberedName> ParseNumberedName(const std::string& name) {
  constexpr std::string_view kOf = "-of-";
  const size_t of = name.rfind(kOf);
  if (of == std::string::npos) {
    return std::nullopt;
  }
  const auto is_digit = [&name](size_t at) {
    return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0;
  };
  size_t begin = of;
  while (begin > 0 && is_digit(begin - 1)) {
    --begin;
  }
  size_t end = of + kOf.size();
  while (is_digit(end)) {
    ++end;
  }
  const size_t total_begin = of + kOf.size();
  if (begin == of || end == total_begin || of - begin > 6 || end - total_begin > 6) {
    return std::nullopt;
  }
  NumberedName numbered;
  numbered.number = std::stoi(name.substr(begin, of - begin));
  numbered.total = std::stoi(name.substr(total_begin, end - total_begin));
  numbered.family = name.substr(0, begin) + "#" + name.substr(of);
  return numbered;
}

// Without an index the numbers in the names still tell when a shard is missing.
Status CheckNumberedNames(const std::vector<std::string>& names, const std::string& folder) {
  std::map<std::string, std::pair<int, int>> families;  // family → shards there, shards in all
  for (const std::string& name : names) {
    const std::optional<NumberedName> numbered = ParseNumberedName(name);
    if (numbered.has_value()) {
      auto& [there, total] = families[numbered->family];
      ++there;
      total = numbered->total;
    }
  }
  for (const auto& [family, counts] : families) {
    if (counts.first != counts.second) {
      return DataLoss("{}: {} of {} shards \"{}\" are there, and no {} says what they hold", folder,
                      counts.first, counts.second, family, kIndexFile);
    }
  }
  return Status();
}

Status NoWeights(const std::vector<std::string>& names, const std::string& folder) {
  for (const std::string& name : names) {
    if (name.ends_with(".gguf")) {
      return Unimplemented("{}: is a GGUF file; ft reads safetensors only so far",
                           JoinPath(folder, name));
    }
    if (name.ends_with(".bin") || name.ends_with(".pth") || name.ends_with(".pt")) {
      return Unimplemented("{}: pickled weights are not read; convert them to safetensors",
                           JoinPath(folder, name));
    }
  }
  return DataLoss("{}: holds no weights: {} files, none of {}, {} or *{}", folder, names.size(),
                  kSingleFile, kIndexFile, kSuffix);
}

Result<ShardList> FindUnlistedShards(const std::string& folder) {
  FT_ASSIGN_OR_RETURN(const std::vector<std::string> all, ListFiles(folder));
  std::vector<std::string> names;
  std::copy_if(all.begin(), all.end(), std::back_inserter(names),
               [](const std::string& name) { return name.ends_with(kSuffix); });
  if (names.empty()) {
    return NoWeights(all, folder);
  }
  if (names.size() > kMaxShards) {
    return DataLoss("{}: {} shards; ft reads at most {}", folder, names.size(), kMaxShards);
  }
  FT_RETURN_IF_ERROR(CheckNumberedNames(names, folder));
  ShardList list;
  for (const std::string& name : names) {
    list.paths.push_back(JoinPath(folder, name));
  }
  return list;
}

}  // namespace

Result<ShardList> ParseShardIndex(std::string_view text,
                                  const std::string& folder,
                                  const std::string& index_path) {
  Result<json::Value> root = json::Parse(text);
  if (!root.ok()) {
    return root.status().WithContext(fmt::format("{} ({} bytes)", index_path, text.size()));
  }
  const json::Value* map = root.value().Find("weight_map");
  if (map == nullptr || !map->is_object()) {
    return DataLoss("{} ({} bytes): has no object \"weight_map\"", index_path, text.size());
  }
  ShardList list;
  list.index_path = index_path;
  std::map<std::string, size_t> positions;
  for (const json::Member& member : map->as_object()) {
    if (!member.value.is_string() || !IsInsideFolder(member.value.as_string())) {
      return DataLoss("{}: tensor \"{}\" is not put into a file of this folder", index_path,
                      member.key);
    }
    const std::string& name = member.value.as_string();
    const auto [entry, is_new] = positions.emplace(name, list.paths.size());
    if (is_new) {
      list.paths.push_back(JoinPath(folder, name));
    }
    list.index_entries.emplace_back(member.key, entry->second);
  }
  if (list.paths.empty() || list.paths.size() > kMaxShards) {
    return DataLoss("{}: names {} shards; ft reads 1 to {}", index_path, list.paths.size(),
                    kMaxShards);
  }
  return list;
}

Result<ShardList> FindShards(const std::string& path) {
  ShardList list;
  if (!DirectoryExists(path)) {
    if (!FileExists(path)) {
      return NotFound("{}: no such file or folder", path);
    }
    list.paths.push_back(path);
    return list;
  }
  const std::string single = JoinPath(path, kSingleFile);
  if (FileExists(single)) {
    list.paths.push_back(single);
    return list;
  }
  const std::string index_path = JoinPath(path, kIndexFile);
  if (!FileExists(index_path)) {
    return FindUnlistedShards(path);
  }
  FT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(index_path, kMaxIndexBytes));
  FT_ASSIGN_OR_RETURN(list, ParseShardIndex(text, path, index_path));
  FT_RETURN_IF_ERROR(CheckShardsExist(list));
  return list;
}

}  // namespace ft
