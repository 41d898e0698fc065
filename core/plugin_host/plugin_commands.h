// `ft plugins list | info | check | dirs` as library functions: what they print and the exit code.
// Flags are read by core/app.
#pragma once

#include <string>
#include <vector>

#include "core/json/value.h"
#include "core/plugin_host/plugin_host.h"

namespace ft {

/// What a command prints on stdout, one line for stderr where something went wrong, and the
/// program's exit code (design: 0 ready, 1 not ready, 2 usage, 3 not there, 4 trust, 5 probe).
struct CommandOutput {
  std::string text;   ///< ends with a line end; with `json` always exactly one document
  std::string error;  ///< for stderr; empty otherwise
  int exit_code = 0;
};

struct PluginCommandOptions {
  PluginHostOptions host;
  bool json = false;  ///< exactly one JSON document, whatever the exit code
};

/// Every plugin found, with its state. Probes nothing.
CommandOutput PluginsList(const PluginCommandOptions& options);

/// All that is known of one plugin. `what`: short name, id or path. 3 when it is not there.
CommandOutput PluginsInfo(const PluginCommandOptions& options, const std::string& what);

/// The ladder up to and with the probe. Empty `what`: every plugin found, 1 where one is not ready.
CommandOutput PluginsCheck(const PluginCommandOptions& options, const std::string& what);

/// The search order and what was found in each place.
CommandOutput PluginsDirs(const PluginCommandOptions& options);

/// The whole `ft plugins` command behind the word `plugins`: verb, names, `--json`. Verbs that do
/// not exist yet are refused by name (2).
CommandOutput PluginsCommand(const PluginHostOptions& host, const std::vector<std::string>& args);

/// One plugin as JSON: for `/v1/plugins` and the commands above.
json::Value PluginToJson(const PluginRecord& record);

/// One plugin as people read it: each step, requirement, evidence and remedy.
std::string PluginToText(const PluginRecord& record);

}  // namespace ft
