// The functions behind the commands, one file each (cmd_*.cpp). Each returns the program's exit
// code.
#pragma once

#include <vector>

#include "core/app/command.h"
#include "core/config/option_spec.h"

namespace ft::app {

int RunServe(const Invocation& invocation);
int RunInspect(const Invocation& invocation);
int RunEvalLogits(const Invocation& invocation);
int RunEvalPerplexity(const Invocation& invocation);
int RunTokenize(const Invocation& invocation);
int RunRender(const Invocation& invocation);
int RunPlugins(const Invocation& invocation);
int RunConfigShow(const Invocation& invocation);
int RunCompletion(const Invocation& invocation);
int RunChat(const Invocation& invocation);

std::vector<OptionSpec> InspectOptionSpecs();
std::vector<OptionSpec> EvalLogitsOptionSpecs();
std::vector<OptionSpec> EvalPerplexityOptionSpecs();
std::vector<OptionSpec> TokenizeOptionSpecs();
std::vector<OptionSpec> RenderOptionSpecs();
std::vector<OptionSpec> ChatOptionSpecs();

}  // namespace ft::app
