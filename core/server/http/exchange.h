// Exchange: what is known of the one request a connection has in hand, its response's head, and its
// line in the log. No sockets here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/server/dispatcher.h"
#include "core/server/http/http_types.h"
#include "core/server/server.h"

namespace ft::server {

inline constexpr int kStatusClientGone = 499;  // in logs and metrics only, as nginx writes it

struct Exchange {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::string request_id;
  std::string method = "-";
  std::string path = "-";
  std::string origin;
  std::string log_notes;        ///< " prompt=5 output=7 finish=stop"
  std::string_view route_name;  ///< for metrics; empty: an unknown path
  int status = 0;               ///< 0: nothing was answered
  bool is_quiet = false;        ///< logged at debug level only
  bool is_head = false;
  bool is_http_10 = false;
  bool keep_alive = false;
  bool has_unread_body = false;
};

/// The client's x-request-id when it is harmless in a header and a log, or else a new one.
std::string RequestIdOf(std::string_view given);

/// Status line and headers, with the empty line. Without `length` the body is chunked (HTTP/1.0: it
/// ends with the connection).
std::string ResponseHead(const Exchange& exchange,
                         const HttpResponse& response,
                         std::optional<size_t> length,
                         const ServerOptions& options);

/// Adds what a generation did to the log line.
void NoteGeneration(const LiveGeneration& live, Exchange* exchange);

/// One line for the request.
void LogExchange(const Exchange& exchange);

}  // namespace ft::server
