// The table of commands. A new command is one row here and one cmd_*.cpp.
#include <cstdio>

#include "core/app/command.h"
#include "core/app/commands.h"
#include "core/app/serve_options.h"

namespace ft::app {
namespace {

OptionSpec JsonSwitch() {
  return {.name = "json",
          .type = OptionType::kSwitch,
          .default_value = "false",
          .help = "one JSON document"};
}

std::vector<OptionSpec> With(std::vector<OptionSpec> specs, OptionSpec more) {
  specs.push_back(std::move(more));
  return specs;
}

std::vector<Command> MakeCommands() {
  const Positional model_dir = {.name = "DIR",
                                .help = "a model folder, or a hub id that is in the local cache"};
  std::vector<Command> all;
  all.push_back(
      {.words = {"serve"},
       .summary = "serve a model over HTTP",
       .options = ServeOptionSpecs(),
       .positionals = {{.name = "DIR", .help = "the model, as --model", .is_required = false}},
       .run = RunServe,
       .reads_settings = true});
  all.push_back({.words = {"chat"},
                 .summary = "talk to a model in the terminal",
                 .options = ChatOptionSpecs(),
                 .run = RunChat});
  all.push_back({.words = {"inspect"},
                 .summary = "what is in a checkpoint, and whether ft can serve it",
                 .options = InspectOptionSpecs(),
                 .positionals = {model_dir},
                 .run = RunInspect});
  all.push_back(
      {.words = {"plugins"},
       .summary = "list, info ID, check [ID|FILE], dirs",
       .options = {JsonSwitch()},
       .positionals = {{.name = "VERB", .help = "list, info, check or dirs", .is_required = true},
                       {.name = "NAME",
                        .help = "a plugin's short name, id or file",
                        .is_required = false,
                        .is_repeated = true}},
       .run = RunPlugins});
  all.push_back({.words = {"config", "show"},
                 .summary = "every setting of serve and where its value came from",
                 .options = With(ServeOptionSpecs(), JsonSwitch()),
                 .run = RunConfigShow,
                 .reads_settings = true});
  all.push_back({.words = {"eval", "logits"},
                 .summary = "logits of a prompt, and a greedy continuation, to a file",
                 .options = EvalLogitsOptionSpecs(),
                 .run = RunEvalLogits});
  all.push_back({.words = {"eval", "perplexity"},
                 .summary = "perplexity of a text",
                 .options = EvalPerplexityOptionSpecs(),
                 .run = RunEvalPerplexity});
  all.push_back({.words = {"tokenize"},
                 .summary = "JSON lines of text to ids, or back",
                 .options = TokenizeOptionSpecs(),
                 .positionals = {model_dir},
                 .run = RunTokenize});
  all.push_back({.words = {"render"},
                 .summary = "the prompt that a chat template makes",
                 .options = RenderOptionSpecs(),
                 .run = RunRender});
  all.push_back({.words = {"completion"},
                 .summary = "completion script for a shell",
                 .positionals = {{.name = "SHELL", .help = "bash, zsh or fish"}},
                 .run = RunCompletion});
  return all;
}

}  // namespace

int PrintError(const Status& status) {
  static_cast<void>(std::fprintf(stderr, "ft: %s\n", status.message().c_str()));
  return ExitCode(status.code());
}

const std::vector<Command>& AllCommands() {
  static const std::vector<Command> kCommands = MakeCommands();
  return kCommands;
}

}  // namespace ft::app
