// Command: one verb of the program as data: words, options, positional arguments and the function
// that runs it. The table drives parsing, --help, "did you mean" and the completion scripts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/config/option_spec.h"
#include "core/config/settings.h"

namespace ft::app {

struct Positional {
  std::string name;  ///< "DIR"
  std::string help;
  bool is_required = true;
  bool is_repeated = false;  ///< takes the rest
};

/// What a command gets: its resolved settings and positional arguments.
struct Invocation {
  Settings settings;
  std::vector<std::string> positionals;
  std::map<std::string, std::string> environment;
  std::string program;  ///< argv[0]
};

struct Command {
  std::vector<std::string> words;  ///< {"eval", "logits"}
  std::string summary = {};        ///< one line
  std::vector<OptionSpec> options = {};
  std::vector<Positional> positionals = {};
  std::string notes = {};  ///< further lines under --help
  /// Returns the program's exit code. Prints its own results to stdout, errors through PrintError.
  int (*run)(const Invocation& invocation) = nullptr;
  bool reads_settings = false;  ///< options also come from FT_* and --config
};

/// Every command, in the order of --help.
const std::vector<Command>& AllCommands();

/// Writes "ft: message" to stderr and returns the status's exit code.
int PrintError(const Status& status);

}  // namespace ft::app
