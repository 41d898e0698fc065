// The options of `ft serve`, under FreeToken's names where the thing is the same.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/config/option_spec.h"
#include "core/config/settings.h"
#include "core/engine/kv_plan.h"

namespace ft::app {

std::vector<OptionSpec> ServeOptionSpecs();

/// The cache as the settings ask for it; available_bytes is left at 0.
KvPlanRequest MakeKvPlanRequest(const Settings& settings);

}  // namespace ft::app
