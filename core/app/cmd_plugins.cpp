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
  // Usage errors are not results: they belong on stderr.
  std::fputs(output.text.c_str(), output.exit_code == 2 ? stderr : stdout);
  return output.exit_code;
}

}  // namespace ft::app
