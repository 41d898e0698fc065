#include "core/server/api/chat_messages.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/server/api/fields.h"

namespace ft::server {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};

// Content as parts: only text ones. They become one string, as templates expect.
ApiResult<json::Value> JoinParts(const json::Array& parts, const std::string& path) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    FieldReader part(parts[i], place);
    const std::string* type = part.String("type");
    if (!part.failed() && (type == nullptr || *type != "text")) {
      part.Fail("type", type == nullptr ? "missing_required_parameter" : "unsupported_parameter",
                fmt::format("{}.type must be \"text\": this server takes no other content", place));
    }
    const std::string* text = part.String("text");
    if (!part.failed() && text == nullptr) {
      part.Fail("text", "missing_required_parameter", fmt::format("{}.text is missing", place));
    }
    if (auto error = part.Finish()) {
      return tl::unexpected(std::move(*error));
    }
    joined += i == 0 ? "" : "\n";
    joined += *text;
  }
  return json::Value(std::move(joined));
}

ApiResult<json::Value> ReadContent(FieldReader* reader, const std::string& role) {
  const json::Value* content = reader->Any("content");
  if (content == nullptr) {
    if (role != "assistant" && role != "tool") {
      return tl::unexpected(BadRequest("missing_required_parameter", reader->PathOf("content"),
                                       "{} is missing; only assistant and tool messages may be "
                                       "without",
                                       reader->PathOf("content")));
    }
    return json::Value();
  }
  if (content->is_string()) {
    return *content;
  }
  if (content->is_array()) {
    return JoinParts(content->as_array(), reader->PathOf("content"));
  }
  return tl::unexpected(BadRequest("invalid_type", reader->PathOf("content"),
                                   "{} must be a string or an array of text parts, not {}",
                                   reader->PathOf("content"), Excerpt(*content)));
}

std::optional<ApiError> CheckToolCall(const json::Value& call, const std::string& path) {
  FieldReader reader(call, path);
  reader.String("id");
  reader.Int("index", 0, 1 << 20);  // what collecting a stream's deltas leaves behind
  reader.RefuseUnless("type", json::Value("function"));
  const json::Value* function = reader.Object("function");
  if (!reader.failed() && function == nullptr) {
    reader.Fail("function", "missing_required_parameter",
                fmt::format("{}.function is missing", path));
  }
  if (function != nullptr) {
    FieldReader inner(*function, path + ".function");
    const std::string* name = inner.String("name");
    if (!inner.failed() && (name == nullptr || name->empty())) {
      inner.Fail("name", "missing_required_parameter",
                 fmt::format("{}.function.name is missing", path));
    }
    const json::Value* arguments = inner.Any("arguments");
    if (arguments != nullptr && !arguments->is_string() && !arguments->is_object()) {
      inner.Fail("arguments", "invalid_type",
                 fmt::format("{}.function.arguments must be a string of JSON or an object, not {}",
                             path, Excerpt(*arguments)));
    }
    if (auto error = inner.Finish()) {
      return error;
    }
  }
  return reader.Finish();
}

// Fields of the assistant's turns. Adds them to `out`.
void ReadAssistantFields(FieldReader* reader, const std::string& path, json::Value* out) {
  const std::string* thoughts = nullptr;
  for (const char* name : {"reasoning_content", "reasoning"}) {
    const std::string* text = reader->String(name);
    thoughts = thoughts == nullptr ? text : thoughts;
  }
  if (thoughts != nullptr) {
    out->Set("reasoning_content", *thoughts);
  }
  reader->RefuseUnlessNull({"refusal", "audio", "function_call"});
  reader->RefuseUnless("annotations", json::Value::MakeArray());
  const json::Value* calls = reader->Array("tool_calls");
  if (calls == nullptr || calls->as_array().empty()) {
    return;
  }
  for (size_t i = 0; i < calls->as_array().size(); ++i) {
    if (auto error =
            CheckToolCall(calls->as_array()[i], fmt::format("{}.tool_calls[{}]", path, i))) {
      reader->Fail(std::move(*error));
      return;
    }
  }
  out->Set("tool_calls", *calls);
}

ApiResult<json::Value> ReadMessage(const json::Value& message, const std::string& path) {
  FieldReader reader(message, path);
  const std::string* role = reader.String("role");
  if (!reader.failed() && role == nullptr) {
    reader.Fail("role", "missing_required_parameter", fmt::format("{}.role is missing", path));
  }
  if (!reader.failed() && std::find(kRoles.begin(), kRoles.end(), *role) == kRoles.end()) {
    reader.Fail("role", "invalid_value",
                fmt::format("{}.role is {}; roles are system, developer, user, assistant and tool",
                            path, Excerpt(*role)));
  }
  if (reader.failed()) {
    return tl::unexpected(*reader.Finish());
  }
  json::Value out = json::Value::MakeObject();
  // Templates know "system"; OpenAI renamed it for newer models.
  out.Set("role", *role == "developer" ? "system" : *role);
  ApiResult<json::Value> content = ReadContent(&reader, *role);
  if (!content.has_value()) {
    return tl::unexpected(std::move(content.error()));
  }
  out.Set("content", std::move(*content));
  if (const std::string* name = reader.String("name")) {
    out.Set("name", *name);
  }
  if (*role == "tool") {
    if (const std::string* id = reader.String("tool_call_id")) {
      out.Set("tool_call_id", *id);
    }
  }
  if (*role == "assistant") {
    ReadAssistantFields(&reader, path, &out);
  }
  if (auto error = reader.Finish()) {
    return tl::unexpected(std::move(*error));
  }
  return out;
}

std::optional<ApiError> CheckTool(const json::Value& tool, const std::string& path) {
  FieldReader reader(tool, path);
  const std::string* type = reader.String("type");
  if (!reader.failed() && (type == nullptr || *type != "function")) {
    reader.Fail("type", type == nullptr ? "missing_required_parameter" : "unsupported_parameter",
                fmt::format("{}.type must be \"function\"", path));
  }
  const json::Value* function = reader.Object("function");
  if (!reader.failed() && function == nullptr) {
    reader.Fail("function", "missing_required_parameter",
                fmt::format("{}.function is missing", path));
  }
  if (function != nullptr) {
    FieldReader inner(*function, path + ".function");
    const std::string* name = inner.String("name");
    if (!inner.failed() && (name == nullptr || name->empty())) {
      inner.Fail("name", "missing_required_parameter",
                 fmt::format("{}.function.name is missing", path));
    }
    inner.String("description");
    inner.Object("parameters");
    if (inner.Bool("strict").value_or(false)) {
      inner.Fail("strict", "unsupported_parameter",
                 fmt::format("{}.function.strict = true is not supported: arguments are not "
                             "constrained to the schema yet; leave it out",
                             path));
    }
    if (auto error = inner.Finish()) {
      return error;
    }
  }
  return reader.Finish();
}

}  // namespace

ApiResult<json::Value> ReadMessages(const json::Value& messages) {
  if (messages.as_array().empty()) {
    return tl::unexpected(
        BadRequest("invalid_value", "messages", "messages is empty; send at least one message"));
  }
  json::Value out = json::Value::MakeArray();
  for (size_t i = 0; i < messages.as_array().size(); ++i) {
    ApiResult<json::Value> message =
        ReadMessage(messages.as_array()[i], fmt::format("messages[{}]", i));
    if (!message.has_value()) {
      return message;
    }
    out.Append(std::move(*message));
  }
  return out;
}

std::optional<ApiError> CheckTools(const json::Value& tools) {
  for (size_t i = 0; i < tools.as_array().size(); ++i) {
    if (auto error = CheckTool(tools.as_array()[i], fmt::format("tools[{}]", i))) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace ft::server
