#include "core/checkpoint/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/base/errors.h"
#include "core/base/file.h"

namespace ft {
namespace {

constexpr size_t kMaxIdBytes = 200;
constexpr uint64_t kMaxRefBytes = 4096;

struct HubId {
  std::string name;  // "org/name" or "name"
  std::string revision = "main";
};

bool IsIdLetter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

bool IsIdPart(std::string_view part) {
  return !part.empty() && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), IsIdLetter);
}

HubId SplitId(std::string_view text) {
  HubId id;
  const size_t at = text.find('@');
  id.name = std::string(text.substr(0, at));
  if (at != std::string_view::npos) {
    id.revision = std::string(text.substr(at + 1));
  }
  return id;
}

// "models--ORG--NAME", the folder of a repository in the cache.
std::string RepositoryFolder(const std::string& name) {
  std::string folder = "models--" + name;
  const size_t slash = folder.find('/');
  if (slash != std::string::npos) {
    folder.replace(slash, 1, "--");
  }
  return folder;
}

std::string Stripped(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text;
}

// The snapshot's folder in one cache, or an empty string; `*looked_at` gets what was missing.
std::string FindSnapshot(const std::string& cache,
                         const HubId& id,
                         std::vector<std::string>* looked_at) {
  const std::string repository = JoinPath(cache, RepositoryFolder(id.name));
  std::string commit = id.revision;
  const Result<std::string> ref =
      ReadWholeFile(JoinPath(JoinPath(repository, "refs"), id.revision), kMaxRefBytes);
  if (ref.ok() && IsIdPart(Stripped(ref.value()))) {
    commit = Stripped(ref.value());
  }
  std::string snapshot = JoinPath(JoinPath(repository, "snapshots"), commit);
  if (DirectoryExists(snapshot)) {
    return snapshot;
  }
  looked_at->push_back(DirectoryExists(repository) ? snapshot : repository);
  return "";
}

}  // namespace

std::string ReadEnvironment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets it
  return value == nullptr ? "" : value;
}

std::vector<std::string> HubCacheFolders(const EnvironmentReader& environment) {
  struct Place {
    const char* variable;
    const char* below;
  };

  constexpr Place kPlaces[] = {
      {"HF_HUB_CACHE", ""},
      {"HUGGINGFACE_HUB_CACHE", ""},
      {"HF_HOME", "hub"},
      {"XDG_CACHE_HOME", "huggingface/hub"},
      {"HOME", ".cache/huggingface/hub"},
  };
  std::vector<std::string> folders;
  for (const Place& place : kPlaces) {
    const std::string value = environment(place.variable);
    if (value.empty()) {
      continue;
    }
    std::string folder = *place.below == '\0' ? value : JoinPath(value, place.below);
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

bool LooksLikeHubId(std::string_view text) {
  if (text.size() > kMaxIdBytes) {
    return false;
  }
  const size_t at = text.find('@');
  if (at != std::string_view::npos && !IsIdPart(text.substr(at + 1))) {
    return false;
  }
  const std::string_view name = text.substr(0, at);
  const size_t slash = name.find('/');
  return slash != std::string_view::npos && IsIdPart(name.substr(0, slash)) &&
         IsIdPart(name.substr(slash + 1));
}

Result<std::string> ResolveModelPath(const std::string& path_or_id,
                                     const EnvironmentReader& environment) {
  if (path_or_id.empty()) {
    return InvalidArgument("the model's name is empty; it is a folder or an id in the hub cache");
  }
  if (DirectoryExists(path_or_id)) {
    return path_or_id;
  }
  if (FileExists(path_or_id) && path_or_id.ends_with(".gguf")) {
    return InvalidArgument(
        "{}: GGUF is not supported yet; name a folder with config.json and safetensors",
        path_or_id);
  }
  if (FileExists(path_or_id)) {
    return InvalidArgument("{}: is a file; name the model's folder", path_or_id);
  }
  if (!LooksLikeHubId(path_or_id)) {
    return NotFound("{}: no such folder, and no id of the Hugging Face hub (org/name)", path_or_id);
  }
  const HubId id = SplitId(path_or_id);
  std::vector<std::string> looked_at = {path_or_id};
  for (const std::string& cache : HubCacheFolders(environment)) {
    std::string snapshot = FindSnapshot(cache, id, &looked_at);
    if (!snapshot.empty()) {
      return snapshot;
    }
  }
  return NotFound(
      "{}: no such folder, and not in the local hub cache; looked at {}. ft downloads nothing: "
      "fetch it with `hf download {}`",
      path_or_id, fmt::join(looked_at, ", "), id.name);
}

}  // namespace ft
