#include "core/server/api/generation.h"

#include <random>

#include "core/base/errors.h"

namespace ft::server {

std::string UsageJson(const Usage& usage) {
  return fmt::format(
      "{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},"
      "\"prompt_tokens_details\":{{\"cached_tokens\":{}}},"
      "\"completion_tokens_details\":{{\"reasoning_tokens\":{}}}}}",
      usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens + usage.completion_tokens,
      usage.cached_tokens, usage.reasoning_tokens);
}

std::string RandomId(std::string_view prefix) {
  std::random_device source;  // the processor's or the kernel's: ids must not be guessable
  std::string id(prefix);
  for (int i = 0; i < 3; ++i) {
    id += fmt::format("{:08x}", source());
  }
  return id;
}

std::string ErrorEvent(const ApiError& error) {
  return fmt::format("data: {}\n\ndata: [DONE]\n\n", ErrorBody(error));
}

std::optional<ApiError> FailureOf(const RequestOutput& output) {
  if (output.finish == FinishReason::kError) {
    return FromStatus(output.error.ok() ? Internal("the engine gave up without a reason")
                                        : output.error);
  }
  if (output.finish == FinishReason::kCancelled) {
    return NotServing("the server ended this request before it was done; send it again");
  }
  return std::nullopt;
}

}  // namespace ft::server
