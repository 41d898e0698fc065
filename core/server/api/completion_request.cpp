#include "core/server/api/completion_request.h"

#include <optional>
#include <utility>

namespace ft::server {
namespace {

constexpr int kMaxLogprobs = 20;  // OpenAI's API has 5; the chat form has 20

// One element of a list of prompts.
bool AddPrompt(const json::Value& element,
               const std::string& path,
               int32_t vocab_size,
               CompletionRequest* request,
               ApiError* error) {
  if (element.is_string()) {
    request->prompts.emplace_back(element.as_string());
    return true;
  }
  if (!element.is_array()) {
    *error =
        BadRequest("invalid_type", path, "{} must be a string or an array of token ids, not {}",
                   path, Excerpt(element));
    return false;
  }
  std::optional<PromptIds> ids = ReadTokenIds(element, path, vocab_size, error);
  if (!ids.has_value()) {
    return false;
  }
  request->prompts.emplace_back(std::move(*ids));
  return true;
}

void ReadPrompt(FieldReader* reader, const RequestDefaults& defaults, CompletionRequest* request) {
  const json::Value* prompt = reader->Any("prompt");
  if (prompt == nullptr) {
    reader->Fail("prompt", "missing_required_parameter",
                 "prompt is missing; send a string, token ids, or an array of either");
    return;
  }
  ApiError error;
  bool ok = true;
  const bool is_list =
      prompt->is_array() && !prompt->as_array().empty() && !prompt->as_array().front().is_number();
  if (!is_list) {
    ok = AddPrompt(*prompt, "prompt", defaults.vocab_size, request, &error);
  } else {
    const json::Array& elements = prompt->as_array();
    for (size_t i = 0; ok && i < elements.size(); ++i) {
      ok = AddPrompt(elements[i], fmt::format("prompt[{}]", i), defaults.vocab_size, request,
                     &error);
    }
  }
  if (!ok) {
    reader->Fail(std::move(error));
  }
}

}  // namespace

ApiResult<CompletionRequest> ReadCompletionRequest(const json::Value& body,
                                                   const RequestDefaults& defaults) {
  CompletionRequest request;
  FieldReader reader(body, "");
  if (reader.failed()) {
    return tl::unexpected(*reader.Finish());
  }
  request.common = ReadCommonFields(&reader, defaults);
  ReadPrompt(&reader, defaults, &request);
  if (const auto logprobs = reader.Int("logprobs", 0, kMaxLogprobs)) {
    request.common.sampling.num_logprobs = static_cast<int>(*logprobs);
  } else {
    request.common.sampling.num_logprobs = -1;
  }
  const auto num_choices = static_cast<size_t>(request.common.n) * request.prompts.size();
  if (num_choices > static_cast<size_t>(defaults.max_choices)) {
    reader.Fail(
        "prompt", "invalid_value",
        fmt::format("n = {} times {} prompts is {} completions; at most {} are allowed in "
                    "one request",
                    request.common.n, request.prompts.size(), num_choices, defaults.max_choices));
  }
  reader.RefuseUnless("echo", json::Value(/*value=*/false));
  reader.RefuseUnless("best_of", json::Value(request.common.n));
  reader.RefuseUnlessNull({"suffix"});
  reader.RefuseUnless("response_format", [] {
    json::Value text = json::Value::MakeObject();
    text.Set("type", "text");
    return text;
  }());
  if (auto error = reader.Finish()) {
    return tl::unexpected(std::move(*error));
  }
  return request;
}

}  // namespace ft::server
