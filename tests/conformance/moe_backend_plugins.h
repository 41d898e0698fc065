// Every MoE backend of the plugins in the build folder.
#pragma once

#include <string>
#include <vector>

#include "core/moe/moe_backend.h"

namespace ft {

/// Loaded once per process; never unloaded. A plugin that cannot be loaded fails the process
/// loudly.
const MoeBackendRegistry& AllMoeBackends();

/// Their names, for INSTANTIATE_TEST_SUITE_P.
std::vector<std::string> AllMoeBackendNames();

}  // namespace ft
