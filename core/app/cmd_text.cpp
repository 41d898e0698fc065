// `ft tokenize` and `ft render`: what the model really gets to see.
#include <cstdio>
#include <iostream>
#include <utility>

#include "core/app/commands.h"
#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/checkpoint/hub_cache.h"
#include "core/json/parse.h"
#include "core/json/write.h"
#include "core/text/chat_template.h"
#include "core/text/render_jsonl.h"
#include "core/text/tokenize_jsonl.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::app {
namespace {

constexpr uint64_t kMaxContextBytes = uint64_t{64} << 20;

Status Tokenize(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  const bool decode = settings.Switch("decode");
  if (settings.Switch("special") && decode) {
    return InvalidArgument("--special belongs to encoding; with --decode use --skip-special");
  }
  if (settings.Switch("skip-special") && !decode) {
    return InvalidArgument("--skip-special belongs to --decode");
  }
  FT_ASSIGN_OR_RETURN(const std::string dir, ResolveModelPath(invocation.positionals[0]));
  FT_ASSIGN_OR_RETURN(const auto tokenizer, text::Tokenizer::Load(dir));
  std::ios::sync_with_stdio(false);
  return text::TokenizeJsonl(*tokenizer,
                             {.decode = decode,
                              .add_special_tokens = settings.Switch("special"),
                              .skip_special_tokens = settings.Switch("skip-special")},
                             &std::cin, &std::cout);
}

// The prompt of a conversation; of a list of conversations, a JSON array of their prompts.
Result<std::string> RenderMessages(const text::ChatTemplateSet& templates,
                                   const json::Value& messages,
                                   const text::ApplyOptions& options) {
  const bool is_batch =
      messages.is_array() && !messages.as_array().empty() && messages.as_array().front().is_array();
  if (!is_batch) {
    FT_ASSIGN_OR_RETURN(const json::Value normal, text::NormalizeMessages(messages));
    return templates.Apply(normal, options);
  }
  json::Value prompts = json::Value::MakeArray();
  for (const json::Value& conversation : messages.as_array()) {
    FT_ASSIGN_OR_RETURN(const json::Value normal, text::NormalizeMessages(conversation));
    FT_ASSIGN_OR_RETURN(std::string prompt, templates.Apply(normal, options));
    prompts.Append(json::Value(std::move(prompt)));
  }
  return json::Write(prompts);
}

// A context file for --model is what the Python library's apply_chat_template is given: messages,
// tools, perhaps a chat_template, and further variables. Nothing is added to it.
Status RenderContext(const Settings& settings) {
  if (!settings.IsSet("model") || !settings.IsSet("context")) {
    return InvalidArgument("ft render needs --model DIR and --context FILE, or --jsonl");
  }
  FT_ASSIGN_OR_RETURN(const std::string dir, ResolveModelPath(settings.String("model")));
  FT_ASSIGN_OR_RETURN(const text::ChatTemplateSet templates, text::ChatTemplateSet::Load(dir));
  const std::string path = settings.String("context");
  FT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxContextBytes));
  const Result<json::Value> context = json::Parse(text);
  if (!context.ok()) {
    return context.status().WithContext(path);
  }
  const json::Value* messages = context->Find("messages");
  if (messages == nullptr) {
    return DataLoss("{}: no \"messages\"; it must be an object with messages and perhaps tools",
                    path);
  }
  text::ApplyOptions options;
  json::Value kwargs = json::Value::MakeObject();
  for (const json::Member& member : context->as_object()) {
    if (member.key == "chat_template" && member.value.is_string()) {
      options.chat_template = member.value.as_string();
    } else if (member.key != "messages" && member.key != "tools") {
      kwargs.Set(member.key, member.value);
    }
  }
  options.tools = context->Find("tools");
  options.kwargs = &kwargs;
  FT_ASSIGN_OR_RETURN(const std::string prompt, RenderMessages(templates, *messages, options));
  static_cast<void>(std::fwrite(prompt.data(), 1, prompt.size(), stdout));
  return Status();
}

}  // namespace

std::vector<OptionSpec> TokenizeOptionSpecs() {
  return {
      {.name = "special",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "add the special tokens that the tokenizer's template adds"},
      {.name = "decode",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "lines are {\"ids\": […]}, answers {\"text\": …}"},
      {.name = "skip-special",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "with --decode: leave special tokens out"},
  };
}

std::vector<OptionSpec> RenderOptionSpecs() {
  return {
      {.name = "model",
       .aliases = {"model-path"},
       .help = "a model folder, or a hub id that is in the local cache",
       .value_name = "DIR"},
      {.name = "context",
       .help = "JSON file with messages, tools and further variables, such as "
               "add_generation_prompt (false unless given); the prompt goes to stdout",
       .value_name = "FILE"},
      {.name = "jsonl",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "lines {\"template\", \"context\", \"now\"} on stdin, answers {\"text\"} or "
               "{\"error\"}"},
  };
}

int RunTokenize(const Invocation& invocation) {
  const Status status = Tokenize(invocation);
  return status.ok() ? 0 : PrintError(status);
}

int RunRender(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  if (settings.Switch("jsonl") && (settings.IsSet("model") || settings.IsSet("context"))) {
    return PrintError(InvalidArgument(
        "--jsonl brings its own templates and contexts; leave out --model and --context"));
  }
  std::ios::sync_with_stdio(false);
  const Status status =
      settings.Switch("jsonl") ? text::RenderJsonl(&std::cin, &std::cout) : RenderContext(settings);
  return status.ok() ? 0 : PrintError(status);
}

}  // namespace ft::app
