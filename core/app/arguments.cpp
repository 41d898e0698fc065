#include "core/app/arguments.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/base/errors.h"

namespace ft::app {
namespace {

std::string Joined(const std::vector<std::string>& words, const char* separator = " ") {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : separator) + word;
  }
  return text;
}

std::vector<std::string> FlagNames(const Command& command) {
  std::vector<std::string> names = {"--help"};
  for (const OptionSpec& spec : command.options) {
    names.push_back("--" + spec.name);
    for (const std::string& alias : spec.aliases) {
      names.push_back("--" + alias);
    }
  }
  return names;
}

std::string ValueName(const OptionSpec& spec) {
  if (!spec.value_name.empty()) {
    return spec.value_name;
  }
  switch (spec.type) {
    case OptionType::kSwitch:
      return "";
    case OptionType::kInt:
      return "N";
    case OptionType::kFloat:
      return "X";
    case OptionType::kSize:
      return "SIZE";
    case OptionType::kChoice:
      return "{" + Joined(spec.choices, "|") + "}";
    case OptionType::kString:
    case OptionType::kList:
      return "TEXT";
  }
  return "";
}

// The longest run of leading words that names a command.
const Command* FindCommand(const std::vector<Command>& commands,
                           const std::vector<std::string>& args,
                           size_t* num_words) {
  const Command* found = nullptr;
  *num_words = 0;
  for (const Command& command : commands) {
    if (command.words.size() <= args.size() && command.words.size() > *num_words &&
        std::equal(command.words.begin(), command.words.end(), args.begin())) {
      found = &command;
      *num_words = command.words.size();
    }
  }
  return found;
}

std::string GroupHelp(const std::vector<Command>& commands, const std::string& first) {
  std::string text;
  for (const Command& command : commands) {
    if (command.words[0] == first) {
      text += fmt::format("  ft {:<24} {}\n", Joined(command.words), command.summary);
    }
  }
  return text;
}

Status UnknownCommand(const std::vector<Command>& commands, const std::vector<std::string>& args) {
  std::vector<std::string> firsts;
  std::vector<std::string> seconds;
  for (const Command& command : commands) {
    firsts.push_back(command.words[0]);
    if (command.words[0] == args[0] && command.words.size() > 1) {
      seconds.push_back(command.words[1]);
    }
  }
  if (!seconds.empty()) {
    if (args.size() < 2 || args[1].starts_with("-")) {
      return InvalidArgument("ft {} needs one of: {}", args[0], Joined(seconds, ", "));
    }
    const std::string close = ClosestWord(args[1], seconds);
    return InvalidArgument("there is no command 'ft {} {}'{}; there are: {}", args[0], args[1],
                           close.empty() ? "" : ", did you mean '" + close + "'?",
                           Joined(seconds, ", "));
  }
  const std::string close = ClosestWord(args[0], firsts);
  return InvalidArgument("there is no command '{}'{}", args[0],
                         close.empty() ? "; see ft --help" : "; did you mean '" + close + "'?");
}

std::string UnknownFlag(const Command& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string close = ClosestWord(name, FlagNames(command));
  return fmt::format("ft {} has no flag {}{}", Joined(command.words), name,
                     close.empty() ? "" : "; did you mean " + close + "?");
}

bool KnowsFlag(const Command& command, const std::string& name) {
  const std::vector<std::string> names = FlagNames(command);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// `words` are what no flag took, `operands` what stood behind "--".
Status TakeOperands(const Command& command,
                    const std::vector<std::string>& words,
                    const std::vector<std::string>& operands,
                    std::vector<std::string>* positionals) {
  for (const std::string& word : words) {
    if (word.starts_with("-") && word != "-") {
      return InvalidArgument("{}", UnknownFlag(command, word));
    }
  }
  *positionals = words;
  positionals->insert(positionals->end(), operands.begin(), operands.end());
  const bool takes_rest = !command.positionals.empty() && command.positionals.back().is_repeated;
  if (!takes_rest && positionals->size() > command.positionals.size()) {
    return InvalidArgument("ft {} does not take the argument '{}'", Joined(command.words),
                           (*positionals)[command.positionals.size()]);
  }
  return Status();
}

// The kinds of arguments, one after the other.
// NOLINTNEXTLINE(readability-function-size,readability-function-cognitive-complexity)
Result<ParsedArguments> ParseFor(const Command& command, std::vector<std::string> rest) {
  CLI::App app(command.summary);
  app.set_help_flag();  // --help is ours
  app.allow_extras();
  bool wants_help = false;
  app.add_flag("-h,--help", wants_help);
  std::vector<std::vector<std::string>> texts(command.options.size());
  std::vector<CLI::Option*> options;
  for (size_t i = 0; i < command.options.size(); ++i) {
    const OptionSpec& spec = command.options[i];
    std::string names = "--" + spec.name;
    for (const std::string& alias : spec.aliases) {
      names += ",--" + alias;
    }
    if (spec.type == OptionType::kSwitch) {
      options.push_back(app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
    } else {
      options.push_back(app.add_option(names, texts[i])
                            ->type_size(1)
                            ->allow_extra_args(false)
                            ->expected(1)
                            ->allow_extra_args(false)  // one word each, and no [lists] in it
                            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
    }
  }
  // What follows a "--" is an operand, whatever it looks like.
  const auto dashes = std::find(rest.begin(), rest.end(), "--");
  std::vector<std::string> operands;
  if (dashes != rest.end()) {
    operands.assign(dashes + 1, rest.end());
    rest.erase(dashes, rest.end());
  }
  for (const std::string& word : rest) {  // CLI11 would take the next word in its place
    if (word.starts_with("--") && word.ends_with("=")) {
      const std::string name = word.substr(0, word.size() - 1);
      return InvalidArgument(
          "{}", KnowsFlag(command, name)
                    ? fmt::format("ft {}: {} needs a value", Joined(command.words), name)
                    : UnknownFlag(command, name));
    }
  }
  std::reverse(rest.begin(), rest.end());  // CLI11 takes a vector back to front
  try {
    app.parse(rest);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--flag: 1 required TEXT missing"
    return InvalidArgument("ft {}: {} needs a value", Joined(command.words),
                           text.substr(0, text.find(':')));
  } catch (const CLI::Error& error) {
    return InvalidArgument("ft {}: {}", Joined(command.words), error.what());
  }
  ParsedArguments parsed;
  if (wants_help) {
    parsed.text = HelpText(command);
    return parsed;
  }
  parsed.command = &command;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i]->count() > 0) {
      parsed.flags[command.options[i].name] =
          command.options[i].type == OptionType::kSwitch
              ? std::vector<std::string>{options[i]->results().back()}
              : texts[i];
    }
  }
  FT_RETURN_IF_ERROR(TakeOperands(command, app.remaining(), operands, &parsed.positionals));
  for (size_t i = parsed.positionals.size(); i < command.positionals.size(); ++i) {
    if (command.positionals[i].is_required) {
      return InvalidArgument("ft {} needs {} ({})", Joined(command.words),
                             command.positionals[i].name, command.positionals[i].help);
    }
  }
  return parsed;
}

}  // namespace

std::string VersionText() {
  return "ft " FT_VERSION "\n";
}

std::string HelpText(const std::vector<Command>& commands) {
  std::string text =
      "ft serves Mixture-of-Experts language models whose experts do not fit the accelerator.\n\n"
      "usage: ft COMMAND [ARGUMENTS]\n\ncommands:\n";
  for (const Command& command : commands) {
    text += fmt::format("  {:<20} {}\n", Joined(command.words), command.summary);
  }
  text +=
      "\n  ft COMMAND --help      what a command takes\n"
      "  ft --version           the version\n\n"
      "exit codes: 0 done, 1 refused or failed for a stated reason, 2 usage or a broken file,\n"
      "            3 not there, 4 not trusted, 5 a plugin crashed or hung, 6 ft itself failed\n";
  return text;
}

// The parts of the text in order.  NOLINTNEXTLINE(readability-function-cognitive-complexity)
std::string HelpText(const Command& command) {
  std::string text = command.summary + "\n\nusage: ft " + Joined(command.words);
  for (const Positional& positional : command.positionals) {
    const std::string name = positional.name + (positional.is_repeated ? "…" : "");
    text += positional.is_required ? " " + name : " [" + name + "]";
  }
  text += command.options.empty() ? "\n" : " [FLAGS]\n";
  if (!command.positionals.empty()) {
    text += "\n";
    for (const Positional& positional : command.positionals) {
      text += fmt::format("  {:<12} {}\n", positional.name, positional.help);
    }
  }
  std::string group;
  for (const OptionSpec& spec : command.options) {
    if (spec.group != group || &spec == &command.options.front()) {
      group = spec.group;
      text += "\n" + (group.empty() ? std::string("flags") : group) + ":\n";
    }
    std::string left = "--" + spec.name;
    for (const std::string& alias : spec.aliases) {
      left += ", --" + alias;
    }
    const std::string value = ValueName(spec);
    left += value.empty() ? "" : " " + value;
    text += "  " + left + "\n      " + spec.help;
    if (!spec.default_value.empty() && spec.type != OptionType::kSwitch) {
      text += " (default " + spec.default_value + ")";
    }
    if (command.reads_settings) {
      text += " [" + spec.EnvironmentName() + "]";
    }
    text += "\n";
  }
  if (command.reads_settings) {
    text +=
        "\nEach flag may also stand in the environment (in brackets) or, as its name with "
        "underscores,\n"
        "in the YAML file of --config. The flag wins, then the environment, then the file.\n";
  }
  if (!command.notes.empty()) {
    text += "\n" + command.notes;
  }
  return text;
}

Result<ParsedArguments> ParseArguments(const std::vector<Command>& commands,
                                       const std::vector<std::string>& args) {
  ParsedArguments parsed;
  if (args.empty()) {
    return InvalidArgument("a command is needed; see ft --help");
  }
  if (args[0] == "help" && args.size() > 1) {  // `ft help serve` is `ft serve --help`
    std::vector<std::string> words(args.begin() + 1, args.end());
    words.emplace_back("--help");
    return ParseArguments(commands, words);
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    parsed.text = HelpText(commands);
    return parsed;
  }
  if (args[0] == "--version" || args[0] == "-V" || args[0] == "version") {
    parsed.text = VersionText();
    return parsed;
  }
  size_t num_words = 0;
  const Command* command = FindCommand(commands, args, &num_words);
  if (command == nullptr) {
    const std::string group = GroupHelp(commands, args[0]);
    if (!group.empty() && args.size() > 1 && (args[1] == "--help" || args[1] == "-h")) {
      parsed.text = group;
      return parsed;
    }
    return UnknownCommand(commands, args);
  }
  return ParseFor(*command, {args.begin() + static_cast<std::ptrdiff_t>(num_words), args.end()});
}

}  // namespace ft::app
