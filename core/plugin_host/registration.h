// From the tables of a loaded plugin to the registries of the core.
#pragma once

#include "core/base/status.h"
#include "core/plugin_host/load.h"
#include "core/plugin_host/plugin_host.h"

namespace ft {

/// Adds every component to the registry of its kind. Errors: those of the registries (a name that
/// is taken), after the other components were added.
Status RegisterComponents(const PluginRecord& record,
                          const OpenedPlugin& opened,
                          const PluginRegistries& registries);

}  // namespace ft
