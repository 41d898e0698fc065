// `ft plugins …`: the words go to core/plugin_host, which knows the verbs.
#include <cstdio>

#include "core/app/commands.h"
#include "core/plugin_host/plugin_commands.h"

namespace ft::app {

int RunPlugins(const Invocation& invocation) {
  std::vector<std::string> args = invocation.positionals;
  if (invocation.settings.Switch("json")) {
    args.emplace_back("--json");
  }
  const CommandOutput output = PluginsCommand(PluginHostOptionsFromEnvironment(), args);
  static_cast<void>(std::fputs(output.text.c_str(), stdout));
  if (!output.error.empty()) {
    static_cast<void>(std::fprintf(stderr, "ft: %s\n", output.error.c_str()));
  }
  return output.exit_code;
}

}  // namespace ft::app
