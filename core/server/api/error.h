// ApiError: why a request is refused, in the words of OpenAI's error object.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "core/base/status.h"
#include "core/server/http/http_types.h"

namespace ft::server {

struct ApiError {
  int http_status = 400;
  std::string type = "invalid_request_error";
  std::string code;   ///< empty: null
  std::string param;  ///< the place, e.g. "messages[0].content"; empty: null
  std::string message;
  int retry_after_seconds = 0;  ///< > 0: sent as a header
  std::string allow;            ///< of a 405: the methods that would do
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

/// `{"error":{"message","type","param","code"}}`.
std::string ErrorBody(const ApiError& error);

HttpResponse ErrorResponse(const ApiError& error);

/// A Status from below as the client sees it: kInvalidArgument, kUnimplemented and
/// kFailedPrecondition 400; kResourceExhausted 400 when the message begins with
/// "context_length_exceeded"; kUnavailable 429 when it begins with "the queue is full", else 503;
/// the rest 500.
ApiError FromStatus(const Status& status);

/// 400 at a place. `code` is "unknown_parameter", "unsupported_parameter", "invalid_type",
/// "invalid_value" or "missing_required_parameter".
template <typename... Args>
ApiError BadRequest(std::string code,
                    std::string param,
                    fmt::format_string<Args...> text,
                    Args&&... args) {
  ApiError error;
  error.code = std::move(code);
  error.param = std::move(param);
  error.message = fmt::format(text, std::forward<Args>(args)...);
  return error;
}

/// The request cannot fit the window of `max_model_len` tokens, now or later.
ApiError ContextLengthExceeded(int64_t max_model_len, int64_t prompt_tokens, int64_t max_tokens);

/// 503 with retry-after: loading, draining or failed.
ApiError NotServing(std::string message);

}  // namespace ft::server
