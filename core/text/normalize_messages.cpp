// Messages as clients send them, made into what templates expect.
#include <utility>

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/text/chat_template.h"
#include "core/text/jinja/text_util.h"

namespace ft::text {
namespace {

Result<json::Value> ParseArguments(const json::Value& arguments, size_t message_index) {
  if (arguments.is_null()) {
    return json::Value::MakeObject();
  }
  if (arguments.is_object()) {
    return arguments;
  }
  if (!arguments.is_string()) {
    return InvalidArgument("message {}: the arguments of a tool call must be a JSON object, not {}",
                           message_index, json::KindName(arguments.kind()));
  }
  if (jinja::TrimRight(arguments.as_string()).empty()) {
    return json::Value::MakeObject();
  }
  json::ParseOptions options;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;
  Result<json::Value> parsed = json::Parse(arguments.as_string(), options);
  if (!parsed.ok()) {
    return InvalidArgument("message {}: the arguments of a tool call are not JSON: {}",
                           message_index, parsed.status().message());
  }
  if (parsed->is_null()) {
    return json::Value::MakeObject();
  }
  if (!parsed->is_object()) {
    return InvalidArgument("message {}: the arguments of a tool call must be a JSON object, not {}",
                           message_index, json::KindName(parsed->kind()));
  }
  return parsed;
}

Status NormalizeCall(json::Value* call, size_t message_index) {
  if (!call->is_object()) {
    return InvalidArgument("message {}: a tool call must be an object, not {}", message_index,
                           json::KindName(call->kind()));
  }
  json::Value* function = call->Find("function");
  json::Value* holder = function != nullptr && function->is_object() ? function : call;
  json::Value* arguments = holder->Find("arguments");
  if (arguments == nullptr) {
    if (holder == function) {
      holder->Set("arguments", json::Value::MakeObject());
    }
    return {};
  }
  FT_ASSIGN_OR_RETURN(*arguments, ParseArguments(*arguments, message_index));
  return {};
}

}  // namespace

Result<json::Value> NormalizeMessages(const json::Value& messages) {
  if (!messages.is_array()) {
    return InvalidArgument("messages must be a list, not {}", json::KindName(messages.kind()));
  }
  json::Value result = json::Value::MakeArray();
  for (size_t i = 0; i < messages.as_array().size(); ++i) {
    const json::Value& message = messages.as_array()[i];
    if (!message.is_object()) {
      return InvalidArgument("message {} must be an object, not {}", i,
                             json::KindName(message.kind()));
    }
    json::Object members;
    for (const json::Member& member : message.as_object()) {
      if (member.key != "tool_calls") {
        members.push_back(member);
        continue;
      }
      if (member.value.is_null()) {
        continue;
      }
      if (!member.value.is_array()) {
        return InvalidArgument("message {}: tool_calls must be a list, not {}", i,
                               json::KindName(member.value.kind()));
      }
      if (member.value.as_array().empty()) {
        continue;
      }
      json::Member calls = member;
      for (json::Value& call : calls.value.as_array()) {
        FT_RETURN_IF_ERROR(NormalizeCall(&call, i));
      }
      members.push_back(std::move(calls));
    }
    result.Append(json::Value(std::move(members)));
  }
  return result;
}

}  // namespace ft::text
