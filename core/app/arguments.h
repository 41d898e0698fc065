// Arguments: argv to a command and what was given to it. The words of errors are for people.
#pragma once

#include <string>
#include <vector>

#include "core/app/command.h"
#include "core/base/status.h"
#include "core/config/settings.h"

namespace ft::app {

struct ParsedArguments {
  const Command* command = nullptr;  ///< null: `text` is to be printed (help, version)
  FlagValues flags;
  std::vector<std::string> positionals;
  std::string text;
};

/// Errors: kInvalidArgument for an unknown command or flag (with the closest one), a missing value,
/// an argument too many or too few.
Result<ParsedArguments> ParseArguments(const std::vector<Command>& commands,
                                       const std::vector<std::string>& args);

/// "ft 0.1.0".
std::string VersionText();

/// The text of `ft --help`.
std::string HelpText(const std::vector<Command>& commands);

/// The text of `ft WORDS --help`.
std::string HelpText(const Command& command);

}  // namespace ft::app
