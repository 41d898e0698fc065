// Generation: one HTTP request that makes the engine work. It turns the engine's outputs into the
// protocol's bytes; it knows neither sockets nor the engine. Lives on the I/O thread after it was
// prepared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine.h"
#include "core/server/api/error.h"

namespace ft::server {

/// Token counts of one HTTP request.
struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t reasoning_tokens = 0;
};

/// The `usage` object as JSON text.
std::string UsageJson(const Usage& usage);

/// 24 hex digits from a cryptographic source, behind `prefix`: ids of replies and calls.
std::string RandomId(std::string_view prefix);

class Generation {
 public:
  virtual ~Generation() = default;

  /// One per choice, to be submitted in this order. Emptied by the caller.
  std::vector<Request> requests;
  bool stream = false;

  /// Work that `choice` has done. Server-sent events to send now are appended to `sse` (nothing
  /// unless `stream`). Errors: the reply is over for all choices; end it with Fail.
  virtual std::optional<ApiError> OnOutput(size_t choice,
                                           const RequestOutput& output,
                                           std::string* sse) = 0;

  /// All choices have finished: the last events of a stream.
  virtual std::string End() = 0;

  /// The whole reply of a request that does not stream. Requires: all choices have finished.
  virtual HttpResponse Whole() = 0;

  virtual Usage usage() const = 0;

  /// Reasons of the choices so far, for the log: "stop" or "stop,length".
  virtual std::string finish_reasons() const = 0;
};

/// The events that end a stream with an error.
std::string ErrorEvent(const ApiError& error);

/// What a finished choice says: an error when it failed or was cancelled by the server.
std::optional<ApiError> FailureOf(const RequestOutput& output);

}  // namespace ft::server
