#include "core/server/api/chat_request.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/server/api/chat_messages.h"

namespace ft::server {
namespace {

constexpr int kMaxTopLogprobs = 20;  // as OpenAI's API

// What each word of reasoning_effort means for templates; they have different switches, and pass
// over those they do not know.
void ReadReasoningEffort(FieldReader* reader, ChatRequest* request) {
  const std::string* effort = reader->String("reasoning_effort");
  if (effort == nullptr) {
    return;
  }
  constexpr std::array<std::string_view, 2> kOff = {"none", "minimal"};
  constexpr std::array<std::string_view, 4> kOn = {"low", "medium", "high", "xhigh"};
  const bool off = std::find(kOff.begin(), kOff.end(), *effort) != kOff.end();
  if (!off && std::find(kOn.begin(), kOn.end(), *effort) == kOn.end()) {
    reader->Fail("reasoning_effort", "invalid_value",
                 fmt::format("reasoning_effort is {}; it can be none, minimal, low, medium, high "
                             "or xhigh",
                             Excerpt(*effort)));
    return;
  }
  request->wants_no_thinking = off;
  json::Value* kwargs = &request->prompt.kwargs;
  kwargs->Set("enable_thinking", !off);
  kwargs->Set("thinking", !off);
  kwargs->Set("thinking_mode", off ? "disabled" : "enabled");
  if (!off) {
    kwargs->Set("reasoning_effort", *effort);
  }
}

void ReadTemplateKwargs(FieldReader* reader, ChatRequest* request) {
  const json::Value* kwargs = reader->Object("chat_template_kwargs");
  if (kwargs == nullptr) {
    return;
  }
  // The API's own fields say these; a template given by a client would be a program to run.
  constexpr std::array<std::string_view, 5> kReserved = {
      "messages", "tools", "chat_template", "add_generation_prompt", "continue_final_message"};
  for (const json::Member& member : kwargs->as_object()) {
    if (std::find(kReserved.begin(), kReserved.end(), member.key) != kReserved.end()) {
      const std::string place = "chat_template_kwargs." + member.key;
      reader->Fail(
          BadRequest("unsupported_parameter", place, "{} cannot be set by a request", place));
      return;
    }
    request->prompt.kwargs.Set(member.key, member.value);
    if (member.key == "enable_thinking" || member.key == "thinking") {
      request->wants_no_thinking = member.value == json::Value(/*value=*/false);
    }
  }
}

void ReadToolChoice(FieldReader* reader, ChatRequest* request) {
  const json::Value* choice = reader->Any("tool_choice");
  if (choice == nullptr) {
    return;
  }
  if (*choice == json::Value("none")) {
    request->prompt.tools = json::Value();
    request->use_tools = false;
  } else if (!(*choice == json::Value("auto"))) {
    const bool is_known = choice->is_object() || *choice == json::Value("required");
    reader->Fail("tool_choice", is_known ? "unsupported_parameter" : "invalid_value",
                 fmt::format("tool_choice = {} is not supported; it can be \"auto\" or \"none\"",
                             Excerpt(*choice)));
  }
}

void ReadResponseFormat(FieldReader* reader) {
  const json::Value* format = reader->Object("response_format");
  if (format == nullptr) {
    return;
  }
  FieldReader inner(*format, "response_format");
  const std::string* type = inner.String("type");
  if (!inner.failed() && type == nullptr) {
    inner.Fail("type", "missing_required_parameter", "response_format.type is missing");
  } else if (!inner.failed() && *type != "text") {
    inner.Fail("type", "unsupported_parameter",
               fmt::format("response_format.type = {} is not supported; only \"text\" is",
                           Excerpt(*type)));
  }
  if (auto error = inner.Finish()) {
    reader->Fail(std::move(*error));
  }
}

void ReadLogprobs(FieldReader* reader, SamplingParams* sampling) {
  const bool wanted = reader->Bool("logprobs").value_or(false);
  const auto top = reader->Int("top_logprobs", 0, kMaxTopLogprobs);
  if (top.value_or(0) > 0 && !wanted) {
    reader->Fail("top_logprobs", "invalid_value", "top_logprobs needs logprobs = true");
  }
  sampling->num_logprobs = wanted ? static_cast<int>(top.value_or(0)) : -1;
}

}  // namespace

void ReadChatPrompt(FieldReader* reader, const json::Value& default_kwargs, ChatRequest* request) {
  request->prompt.kwargs = default_kwargs;
  const json::Value* messages = reader->Array("messages");
  if (messages == nullptr) {
    reader->Fail("messages", "missing_required_parameter",
                 "messages is missing; send an array of messages");
  } else {
    ApiResult<json::Value> read = ReadMessages(*messages);
    if (read.has_value()) {
      request->prompt.messages = std::move(*read);
    } else {
      reader->Fail(std::move(read.error()));
    }
  }
  const json::Value* tools = reader->Array("tools");
  if (tools != nullptr && !tools->as_array().empty()) {
    if (auto error = CheckTools(*tools)) {
      reader->Fail(std::move(*error));
    }
    request->prompt.tools = *tools;
    request->use_tools = true;
  }
  ReadToolChoice(reader, request);
  ReadReasoningEffort(reader, request);
  ReadTemplateKwargs(reader, request);
}

ApiResult<ChatRequest> ReadChatRequest(const json::Value& body,
                                       const RequestDefaults& defaults,
                                       const json::Value& default_kwargs) {
  ChatRequest request;
  FieldReader reader(body, "");
  if (reader.failed()) {
    return tl::unexpected(*reader.Finish());
  }
  request.common = ReadCommonFields(&reader, defaults);
  ReadChatPrompt(&reader, default_kwargs, &request);
  ReadLogprobs(&reader, &request.common.sampling);
  ReadResponseFormat(&reader);
  reader.RefuseUnless("parallel_tool_calls", json::Value(/*value=*/true));
  reader.RefuseUnless("modalities", json::Value(json::Array{json::Value("text")}));
  reader.RefuseUnlessNull({"functions", "function_call", "audio", "prediction", "verbosity",
                           "web_search_options", "prompt_cache_retention"});
  if (auto error = reader.Finish()) {
    return tl::unexpected(std::move(*error));
  }
  return request;
}

}  // namespace ft::server
