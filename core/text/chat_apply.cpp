// What transformers 5.24 does around a template: apply_chat_template and render_jinja_template.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/chat_template.h"
#include "core/text/jinja/text_util.h"

namespace ft::text {
namespace {

constexpr std::array<std::string_view, 3> kReasoningFields = {"reasoning_content", "thinking",
                                                              "reasoning"};

// Appended to the text that is to be continued, so that its place in the prompt can be found.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

std::string_view Stripped(std::string_view text) {
  return jinja::TrimLeft(jinja::TrimRight(text));
}

bool IsTruthy(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return false;
    case json::Kind::kBool:
      return value.as_bool();
    case json::Kind::kNumber:
      return value.ToDouble().value_or(0) != 0;
    case json::Kind::kString:
      return !value.as_string().empty();
    case json::Kind::kArray:
      return !value.as_array().empty();
    case json::Kind::kObject:
      return !value.as_object().empty();
  }
  return false;
}

// Drops null members, and fills the names of thoughts from each other.
Result<json::Value> PrepareMessage(const json::Value& message, size_t index) {
  if (!message.is_object()) {
    return InvalidArgument("message {} must be an object, not {}", index,
                           json::KindName(message.kind()));
  }
  const json::Value* reasoning = nullptr;
  for (const std::string_view field : kReasoningFields) {
    const json::Value* found = message.Find(field);
    if (found != nullptr && !found->is_null()) {
      reasoning = found;
      break;
    }
  }
  json::Object members;
  if (reasoning != nullptr) {
    members.push_back({"thinking", *reasoning});
  }
  json::Value result(std::move(members));
  for (const json::Member& member : message.as_object()) {
    if (!member.value.is_null()) {
      result.Set(member.key, member.value);
    }
  }
  if (reasoning != nullptr) {
    result.Set("reasoning_content", *reasoning);
  }
  return result;
}

// Marks the end of the text to be continued, and returns that text.
Result<std::string> MarkFinalMessage(json::Value* messages,
                                     const std::string& field,
                                     std::string_view template_source) {
  json::Value& last = messages->as_array().back();
  json::Value* text = last.Find(field);
  if (text == nullptr || text->is_null()) {
    return InvalidArgument(
        "continue_final_message is set but the final message has no \"{}\" to continue", field);
  }
  std::vector<std::string> fields = {field};
  if (std::find(kReasoningFields.begin(), kReasoningFields.end(), field) !=
      kReasoningFields.end()) {
    fields.clear();
    for (const std::string_view name : kReasoningFields) {
      const json::Value* copy = last.Find(name);
      if (copy != nullptr && *copy == *text) {
        fields.emplace_back(name);
      }
    }
  }
  if (std::none_of(fields.begin(), fields.end(), [template_source](const std::string& name) {
        return template_source.find(name) != std::string_view::npos;
      })) {
    return InvalidArgument(
        "continue_final_message is set to \"{}\" but the chat template does not use that field",
        field);
  }
  if (text->is_array()) {
    for (size_t i = text->as_array().size(); i-- > 0;) {
      json::Value* part = text->as_array()[i].Find("text");
      if (part != nullptr && part->is_string()) {
        std::string original = part->as_string();
        *part = original + std::string(kContinueTag);
        return original;
      }
    }
    return InvalidArgument(
        "continue_final_message is set but the final message has no text to continue");
  }
  if (!text->is_string()) {
    return InvalidArgument("continue_final_message needs text, but \"{}\" is of kind {}", field,
                           json::KindName(text->kind()));
  }
  std::string original = text->as_string();
  for (const std::string& name : fields) {
    *last.Find(name) = original + std::string(kContinueTag);
  }
  return original;
}

// The prompt up to the end of the text to be continued.
Result<std::string> CutBehindTag(std::string prompt, std::string_view text) {
  const std::string_view bare_tag = Stripped(kContinueTag);
  const size_t tag = prompt.rfind(bare_tag);
  if (jinja::FindText(prompt, Stripped(text)) == std::string::npos || tag == std::string::npos) {
    return InvalidArgument(
        "continue_final_message is set but the final message does not appear in the chat after "
        "applying the chat template: the template deletes or changes it");
  }
  const bool keeps_space = prompt.compare(tag, kContinueTag.size(), kContinueTag) == 0;
  prompt.resize(tag);
  if (!keeps_space) {
    prompt.resize(jinja::TrimRight(prompt).size());
  }
  return prompt;
}

struct Switches {
  bool add_generation_prompt = false;
  std::string continue_field;  // empty: nothing is continued
  json::Value documents;
  json::Object variables;  // the other keywords
};

Result<Switches> ReadKeywords(const json::Value* kwargs) {
  Switches switches;
  if (kwargs == nullptr || kwargs->is_null()) {
    return switches;
  }
  if (!kwargs->is_object()) {
    return InvalidArgument("the chat template's keywords must be an object, not {}",
                           json::KindName(kwargs->kind()));
  }
  for (const json::Member& member : kwargs->as_object()) {
    if (member.key == "add_generation_prompt") {
      switches.add_generation_prompt = IsTruthy(member.value);
      switches.variables.push_back(member);
    } else if (member.key == "continue_final_message") {
      if (IsTruthy(member.value)) {
        switches.continue_field =
            member.value.is_string() ? member.value.as_string() : std::string("content");
      }
    } else if (member.key == "documents") {
      switches.documents = member.value;
    } else if (member.key == "messages" || member.key == "tools") {
      return InvalidArgument("'{}' is no keyword of a chat template", member.key);
    } else {
      switches.variables.push_back(member);
    }
  }
  return switches;
}

Status CheckObjects(const json::Value& list, std::string_view what) {
  if (list.is_null()) {
    return {};
  }
  if (!list.is_array()) {
    return InvalidArgument("{} must be a list of objects, not {}", what,
                           json::KindName(list.kind()));
  }
  for (const json::Value& item : list.as_array()) {
    if (!item.is_object()) {
      return InvalidArgument("{} must be a list of objects, but one of them is of kind {}", what,
                             json::KindName(item.kind()));
    }
  }
  return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplateSet::Choose(const ApplyOptions& options) const {
  if (options.chat_template) {
    const auto named = templates_.find(*options.chat_template);
    // A single template has no name that could be asked for.
    if (named != templates_.end() && has_names_) {
      return named->second;
    }
    return ChatTemplate::Parse(*options.chat_template);
  }
  const bool has_tools = options.tools != nullptr && !options.tools->is_null();
  if (const auto tool_use = templates_.find("tool_use");
      has_tools && has_names_ && tool_use != templates_.end()) {
    return tool_use->second;
  }
  if (const auto standard = templates_.find("default"); standard != templates_.end()) {
    return standard->second;
  }
  if (templates_.empty()) {
    return InvalidArgument("this model has no chat template: give the prompt as text instead");
  }
  std::vector<std::string> names;
  for (const auto& [name, unused] : templates_) {
    names.push_back(name);
  }
  return InvalidArgument("this model has several chat templates and no default; choose one of: {}",
                         fmt::join(names, ", "));
}

Result<std::string> ChatTemplateSet::Apply(const json::Value& messages,
                                           const ApplyOptions& options) const {
  FT_ASSIGN_OR_RETURN(const ChatTemplate chosen, Choose(options));
  if (!messages.is_array() || messages.as_array().empty()) {
    return InvalidArgument("a conversation must be a list of at least one message");
  }
  FT_ASSIGN_OR_RETURN(const Switches switches, ReadKeywords(options.kwargs));
  if (!switches.continue_field.empty() && switches.add_generation_prompt) {
    return InvalidArgument(
        "continue_final_message and add_generation_prompt exclude each other: continue the final "
        "message, or begin a new one");
  }
  const json::Value tools = options.tools != nullptr ? *options.tools : json::Value();
  FT_RETURN_IF_ERROR(CheckObjects(tools, "tools"));
  FT_RETURN_IF_ERROR(CheckObjects(switches.documents, "documents"));
  json::Value chat = json::Value::MakeArray();
  for (size_t i = 0; i < messages.as_array().size(); ++i) {
    FT_ASSIGN_OR_RETURN(json::Value message, PrepareMessage(messages.as_array()[i], i));
    chat.Append(std::move(message));
  }
  std::string continued;
  if (!switches.continue_field.empty()) {
    FT_ASSIGN_OR_RETURN(continued,
                        MarkFinalMessage(&chat, switches.continue_field, chosen.source()));
  }
  json::Value context = json::Value::MakeObject();
  for (const auto& [name, token] : special_tokens_) {
    context.Set(name, token);
  }
  context.Set("add_generation_prompt", false);
  for (const json::Member& variable : switches.variables) {
    context.Set(variable.key, variable.value);
  }
  context.Set("messages", std::move(chat));
  context.Set("tools", tools);
  context.Set("documents", switches.documents);
  FT_ASSIGN_OR_RETURN(std::string prompt, chosen.Render(context, options.render));
  return switches.continue_field.empty() ? Result<std::string>(std::move(prompt))
                                         : CutBehindTag(std::move(prompt), continued);
}

Result<std::vector<std::string>> ChatTemplateSet::ApplyBatch(const json::Value& batch,
                                                             const ApplyOptions& options) const {
  if (!batch.is_array() || batch.as_array().empty()) {
    return InvalidArgument("a batch must be a list of at least one conversation");
  }
  std::vector<std::string> prompts;
  for (const json::Value& messages : batch.as_array()) {
    FT_ASSIGN_OR_RETURN(std::string prompt, Apply(messages, options));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

}  // namespace ft::text
