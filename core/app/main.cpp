// The program `ft`: argv to a command, its settings, its exit code.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "core/app/arguments.h"
#include "core/app/command.h"
#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/plugin_host/plugin_host.h"

namespace ft::app {
namespace {

std::map<std::string, std::string> ProcessEnvironment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      result[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return result;
}

// The part of the environment that sets options of `command`; --json is asked for by flag only. A
// name like a setting's that is none is a slip that must not pass unseen.
std::map<std::string, std::string> SettingsOf(
    const Command& command, const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> own;
  std::vector<std::string> names;
  for (const OptionSpec& spec : command.options) {
    if (spec.name == "json") {
      continue;
    }
    names.push_back(spec.EnvironmentName());
    const auto found = environment.find(spec.EnvironmentName());
    if (found != environment.end()) {
      own.insert(*found);
    }
  }
  for (const auto& [name, value] : environment) {
    if (name.starts_with("FT_") && name != "FT_PLUGIN_PATH" && !own.contains(name)) {
      const std::string close = ClosestWord(name, names);
      if (!close.empty()) {
        FT_LOG(kWarning, "{} is no setting and changes nothing; did you mean {}?", name, close);
      }
    }
  }
  return own;
}

bool HasOption(const Command& command, const std::string& name) {
  for (const OptionSpec& spec : command.options) {
    if (spec.name == name) {
      return true;
    }
  }
  return false;
}

// The file that --config or FT_CONFIG names.
std::string ConfigFile(const ParsedArguments& parsed,
                       const std::map<std::string, std::string>& environment) {
  const auto flag = parsed.flags.find("config");
  if (flag != parsed.flags.end()) {
    return flag->second.back();
  }
  const auto variable = environment.find("FT_CONFIG");
  return variable == environment.end() ? std::string() : variable->second;
}

// Whether nobody reads our output any more, as in `ft config show | head -1`: that is no fault.
bool IsReaderGone() {
  pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int Run(const std::vector<std::string>& args, const char* program) {
  Result<ParsedArguments> parsed = ParseArguments(AllCommands(), args);
  if (!parsed.ok()) {
    return PrintError(parsed.status());
  }
  if (parsed->command == nullptr) {
    static_cast<void>(std::fputs(parsed->text.c_str(), stdout));
    return 0;
  }
  const Command& command = *parsed->command;
  Invocation invocation;
  invocation.program = program;
  invocation.environment = ProcessEnvironment();
  invocation.positionals = parsed->positionals;
  const bool reads = command.reads_settings;
  Result<Settings> settings = Settings::Resolve(
      command.options, parsed->flags,
      reads ? SettingsOf(command, invocation.environment) : std::map<std::string, std::string>(),
      reads && HasOption(command, "config") ? ConfigFile(*parsed, invocation.environment)
                                            : std::string());
  if (!settings.ok()) {
    return PrintError(settings.status());
  }
  invocation.settings = std::move(*settings);
  if (HasOption(command, "log-level")) {
    const Result<LogLevel> level = ParseLogLevel(invocation.settings.String("log-level"));
    if (!level.ok()) {
      return PrintError(level.status());
    }
    SetLogLevel(*level);
  }
  return command.run(invocation);
}

}  // namespace

}  // namespace ft::app

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], ft::kPluginProbeCommand) == 0) {
    return ft::RunPluginProbe(argc, argv);
  }
  // A closed pipe or socket is an error of that write, not the end of the program.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // nor is a file that reaches its limit
  const std::vector<std::string> args(argv + 1, argv + argc);
  const int code = ft::app::Run(args, argv[0]);
  // A write that failed earlier shows in ferror only.
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!is_written && code == 0) {
    if (ft::app::IsReaderGone()) {
      return 1;
    }
    return ft::app::PrintError(ft::Unavailable("standard output cannot be written"));
  }
  return code;
}
