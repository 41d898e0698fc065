// The local cache of the Hugging Face hub: an id to the folder of its snapshot. Never the network.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace ft {

/// Reads an environment variable; empty when unset. Tests pass their own.
using EnvironmentReader = std::function<std::string(const char* name)>;

/// The process's environment.
std::string ReadEnvironment(const char* name);

/// Cache folders to look in, in order: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
/// XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub; those whose variable is set.
std::vector<std::string> HubCacheFolders(const EnvironmentReader& environment = ReadEnvironment);

/// "org/name" or "org/name@revision" (revision: branch, tag or commit; default main).
bool LooksLikeHubId(std::string_view text);

/// A folder that exists, or a hub id whose snapshot is in a cache; returns the folder.
/// Errors: kNotFound that lists every place looked at and the command that downloads the model.
Result<std::string> ResolveModelPath(const std::string& path_or_id,
                                     const EnvironmentReader& environment = ReadEnvironment);

}  // namespace ft
