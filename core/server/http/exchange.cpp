#include "core/server/http/exchange.h"

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/server/http/access.h"

namespace ft::server {
namespace {

constexpr size_t kMaxLoggedPath = 200;

using Milliseconds = std::chrono::duration<double, std::milli>;

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:  // the phrase is for people with a packet dump only
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

}  // namespace

std::string RequestIdOf(std::string_view given) {
  constexpr size_t kMaxLength = 128;
  const bool ok = !given.empty() && given.size() <= kMaxLength &&
                  given.find_first_not_of(
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                      "0123456789-_.:") == std::string_view::npos;
  return ok ? std::string(given) : RandomId("req_");
}

std::string ResponseHead(const Exchange& exchange,
                         const HttpResponse& response,
                         std::optional<size_t> length,
                         const ServerOptions& options) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\nserver: ft\r\nx-request-id: {}\r\n", response.status,
                  ReasonPhrase(response.status), exchange.request_id);
  if (response.status != 204) {
    out += fmt::format("content-type: {}\r\n", response.content_type);
    if (length.has_value()) {
      out += fmt::format("content-length: {}\r\n", *length);
    } else if (!exchange.is_http_10) {
      out += "transfer-encoding: chunked\r\n";
    }
  }
  for (const auto& [name, value] : response.headers) {
    out += fmt::format("{}: {}\r\n", name, value);
  }
  if (const std::string cors = CorsOrigin(options, exchange.origin); !cors.empty()) {
    out += fmt::format(
        "access-control-allow-origin: {}\r\naccess-control-expose-headers: x-request-id\r\n"
        "vary: origin\r\n",
        cors);
  }
  out += exchange.keep_alive ? "connection: keep-alive\r\n\r\n" : "connection: close\r\n\r\n";
  return out;
}

void NoteGeneration(const LiveGeneration& live, Exchange* exchange) {
  const Usage usage = live.generation->usage();
  exchange->log_notes +=
      fmt::format(" prompt={} output={}", usage.prompt_tokens, usage.completion_tokens);
  if (live.first_output.has_value()) {
    exchange->log_notes +=
        fmt::format(" ttft={:.1f}ms", Milliseconds(*live.first_output - exchange->start).count());
  }
  if (live.error.has_value()) {
    exchange->log_notes += fmt::format(" error={}", live.error->code);
  } else if (const std::string reasons = live.generation->finish_reasons(); !reasons.empty()) {
    exchange->log_notes += " finish=" + reasons;
  }
}

void LogExchange(const Exchange& exchange) {
  const double ms = Milliseconds(std::chrono::steady_clock::now() - exchange.start).count();
  const std::string line = fmt::format("{} {} {} {:.1f}ms{} id={}", exchange.method,
                                       exchange.path.substr(0, kMaxLoggedPath), exchange.status, ms,
                                       exchange.log_notes, exchange.request_id);
  if (exchange.is_quiet) {
    FT_LOG(kDebug, "{}", line);
  } else {
    FT_LOG(kInfo, "{}", line);
  }
}

}  // namespace ft::server
