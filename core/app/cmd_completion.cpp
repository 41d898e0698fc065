// `ft completion bash|zsh|fish`: scripts made from the table of commands.
#include <cstdio>
#include <set>
#include <string>

#include "core/app/commands.h"
#include "core/base/errors.h"

namespace ft::app {
namespace {

std::string Words(const Command& command, const char* separator) {
  std::string text;
  for (const std::string& word : command.words) {
    text += (text.empty() ? "" : separator) + word;
  }
  return text;
}

std::string Flags(const Command& command) {
  std::string text = "--help";
  for (const OptionSpec& spec : command.options) {
    text += " --" + spec.name;
  }
  return text;
}

// The words that may follow the first one: second words of two-word commands, or verbs.
std::string SecondWords(const std::string& first) {
  std::string text;
  for (const Command& command : AllCommands()) {
    if (command.words[0] == first && command.words.size() > 1) {
      text += (text.empty() ? "" : " ") + command.words[1];
    }
  }
  if (first == "plugins") {
    return "list info check dirs";
  }
  return first == "completion" ? "bash zsh fish" : text;
}

std::string FirstWords() {
  std::set<std::string> seen;
  std::string text;
  for (const Command& command : AllCommands()) {
    if (seen.insert(command.words[0]).second) {
      text += (text.empty() ? "" : " ") + command.words[0];
    }
  }
  return text;
}

std::string Choices(const OptionSpec& spec) {
  std::string text;
  for (const std::string& choice : spec.choices) {
    text += (text.empty() ? "" : " ") + choice;
  }
  return text;
}

std::string BashScript() {
  std::string script =
      "# bash completion for ft: eval \"$(ft completion bash)\"\n"
      "_ft() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local first=${COMP_WORDS[1]} second=${COMP_WORDS[2]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      FirstWords() +
      " --help --version\" -- \"$cur\"))\n"
      "    return\n  fi\n";
  std::set<std::string> choices_seen;
  script += "  case \"$prev\" in\n";
  for (const Command& command : AllCommands()) {
    for (const OptionSpec& spec : command.options) {
      if (!spec.choices.empty() && choices_seen.insert(spec.name).second) {
        script += "    --" + spec.name + ") COMPREPLY=($(compgen -W \"" + Choices(spec) +
                  "\" -- \"$cur\")); return ;;\n";
      }
    }
  }
  script += "  esac\n";
  std::set<std::string> firsts;
  script +=
      "  if [ \"$COMP_CWORD\" -eq 2 ] && [[ \"$cur\" != -* ]]; then\n    case \"$first\" in\n";
  for (const Command& command : AllCommands()) {
    const std::string seconds = SecondWords(command.words[0]);
    if (!seconds.empty() && firsts.insert(command.words[0]).second) {
      script += "      " + command.words[0] + ") COMPREPLY=($(compgen -W \"" + seconds +
                "\" -- \"$cur\")); return ;;\n";
    }
  }
  script += "    esac\n  fi\n  if [[ \"$cur\" == -* ]]; then\n    case \"$first $second\" in\n";
  for (const Command& command : AllCommands()) {
    const std::string pattern =
        command.words.size() > 1 ? "'" + Words(command, " ") + "'" : "'" + command.words[0] + " '*";
    script += "      " + pattern + ") COMPREPLY=($(compgen -W \"" + Flags(command) +
              "\" -- \"$cur\")); return ;;\n";
  }
  script +=
      "    esac\n  fi\n  COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
      "complete -o filenames -F _ft ft\n";
  return script;
}

std::string ZshScript() {
  // zsh runs bash completions itself; one script to keep right instead of two.
  return "#compdef ft\n# zsh completion for ft: eval \"$(ft completion zsh)\"\n"
         "autoload -Uz bashcompinit && bashcompinit\n" +
         BashScript();
}

std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return quoted + "'";
}

std::string FishScript() {
  std::string script = "# fish completion for ft: ft completion fish | source\n";
  std::set<std::string> firsts;
  for (const Command& command : AllCommands()) {
    const std::string& first = command.words[0];
    if (firsts.insert(first).second) {
      script += "complete -c ft -f -n __fish_use_subcommand -a " + first + " -d " +
                FishQuoted(command.summary) + "\n";
      if (!SecondWords(first).empty()) {
        script += "complete -c ft -f -n '__fish_seen_subcommand_from " + first + "' -a " +
                  FishQuoted(SecondWords(first)) + "\n";
      }
    }
    for (const OptionSpec& spec : command.options) {
      script += "complete -c ft -n '__fish_seen_subcommand_from " + command.words.back() + "' -l " +
                spec.name + (spec.type == OptionType::kSwitch ? "" : " -r") +
                (spec.choices.empty() ? "" : " -f -a " + FishQuoted(Choices(spec))) + " -d " +
                FishQuoted(spec.help) + "\n";
    }
  }
  return script;
}

}  // namespace

int RunCompletion(const Invocation& invocation) {
  const std::string& shell = invocation.positionals[0];
  std::string script;
  if (shell == "bash") {
    script = BashScript();
  } else if (shell == "zsh") {
    script = ZshScript();
  } else if (shell == "fish") {
    script = FishScript();
  } else {
    return PrintError(InvalidArgument("ft completion knows bash, zsh and fish, not '{}'", shell));
  }
  static_cast<void>(std::fputs(script.c_str(), stdout));
  return 0;
}

}  // namespace ft::app
