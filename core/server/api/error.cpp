#include "core/server/api/error.h"

#include "core/json/value.h"
#include "core/json/write.h"

namespace ft::server {

std::string ErrorBody(const ApiError& error) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? json::Value() : json::Value(text);
  };
  json::Value inner = json::Value::MakeObject();
  inner.Set("message", error.message);
  inner.Set("type", error.type);
  inner.Set("param", or_null(error.param));
  inner.Set("code", or_null(error.code));
  json::Value outer = json::Value::MakeObject();
  outer.Set("error", std::move(inner));
  return json::Write(outer);
}

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response;
  response.status = error.http_status;
  response.body = ErrorBody(error);
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("retry-after", std::to_string(error.retry_after_seconds));
  }
  if (!error.allow.empty()) {
    response.headers.emplace_back("allow", error.allow);
  }
  return response;
}

ApiError FromStatus(const Status& status) {
  ApiError error;
  error.message = status.message();
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnimplemented:
    case StatusCode::kFailedPrecondition:
      error.code = "invalid_value";
      return error;
    case StatusCode::kResourceExhausted:
      if (status.message().starts_with("context_length_exceeded")) {
        error.code = "context_length_exceeded";
        return error;
      }
      break;
    case StatusCode::kUnavailable:
      if (status.message().starts_with("the queue is full")) {
        error.http_status = 429;
        error.type = "rate_limit_error";
        error.code = "queue_full";
        error.retry_after_seconds = 1;
        return error;
      }
      return NotServing(status.message());
    case StatusCode::kOk:
    case StatusCode::kDataLoss:
    case StatusCode::kNotFound:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kCancelled:
    case StatusCode::kPermissionDenied:
    case StatusCode::kPluginFault:
    case StatusCode::kInternal:
      break;
  }
  error.http_status = 500;
  error.type = "server_error";
  error.code = StatusCodeName(status.code());
  return error;
}

ApiError ContextLengthExceeded(int64_t max_model_len, int64_t prompt_tokens, int64_t max_tokens) {
  return BadRequest(
      "context_length_exceeded", "",
      "context_length_exceeded: this server's window is {} tokens, and the request "
      "needs {} ({} in the prompt and {} for the output); shorten the prompt or lower "
      "max_tokens",
      max_model_len, prompt_tokens + max_tokens, prompt_tokens, max_tokens);
}

ApiError NotServing(std::string message) {
  ApiError error;
  error.http_status = 503;
  error.type = "server_error";
  error.code = "unavailable";
  error.message = std::move(message);
  error.retry_after_seconds = 2;
  return error;
}

}  // namespace ft::server
