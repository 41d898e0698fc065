#include "core/server/api/routes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/server/api/fields.h"

namespace ft::server {
namespace {

struct Entry {
  std::string_view path;
  std::string_view method;
  Endpoint endpoint;
  bool needs_key = true;
  bool is_quiet = false;
};

constexpr std::array kEntries = {
    Entry{"/health", "GET", Endpoint::kHealth, false, true},
    Entry{"/livez", "GET", Endpoint::kHealth, false, true},
    Entry{"/ready", "GET", Endpoint::kReady, false, true},
    Entry{"/readyz", "GET", Endpoint::kReady, false, true},
    Entry{"/metrics", "GET", Endpoint::kMetrics, true, true},
    Entry{"/v1/models", "GET", Endpoint::kModels},
    Entry{"/v1/config", "GET", Endpoint::kConfig},
    Entry{"/v1/plugins", "GET", Endpoint::kPlugins},
    Entry{"/v1/stats", "GET", Endpoint::kStats, true, true},
    Entry{"/v1/chat/completions", "POST", Endpoint::kChatCompletions},
    Entry{"/v1/completions", "POST", Endpoint::kCompletions},
    Entry{"/tokenize", "POST", Endpoint::kTokenize},
    Entry{"/v1/tokenize", "POST", Endpoint::kTokenize},
    Entry{"/detokenize", "POST", Endpoint::kDetokenize},
    Entry{"/v1/detokenize", "POST", Endpoint::kDetokenize},
};

// What clients of this kind of server ask for and do not find here.
constexpr std::array<std::string_view, 10> kNotBuilt = {"/v1/responses",
                                                        "/v1/messages",
                                                        "/v1/messages/count_tokens",
                                                        "/generate",
                                                        "/v1/embeddings",
                                                        "/v1/requests",
                                                        "/v1/cache/status",
                                                        "/v1/cache/rebuild",
                                                        "/v1/rerank",
                                                        "/v1/audio/transcriptions"};

constexpr std::string_view kModelPrefix = "/v1/models/";

ApiError NotFoundError(std::string code, std::string message) {
  ApiError error = BadRequest(std::move(code), "", "{}", message);
  error.http_status = 404;
  return error;
}

std::optional<ApiError> CheckMethod(std::string_view method,
                                    std::string_view want,
                                    std::string_view path) {
  if (method == want || (method == "HEAD" && want == "GET")) {
    return std::nullopt;
  }
  ApiError error =
      BadRequest("method_not_allowed", "", "{} wants {}, not {}", path, want, Excerpt(method));
  error.http_status = 405;
  error.allow = want == "GET" ? "GET, HEAD" : std::string(want);
  return error;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

ApiResult<Route> FindRoute(std::string_view method, std::string_view path) {
  const auto found = std::find_if(kEntries.begin(), kEntries.end(),
                                  [&](const Entry& entry) { return entry.path == path; });
  if (found != kEntries.end()) {
    if (auto error = CheckMethod(method, found->method, path)) {
      return tl::unexpected(std::move(*error));
    }
    return Route{found->endpoint, found->path, "", found->needs_key, found->is_quiet};
  }
  if (path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size()) {
    if (auto error = CheckMethod(method, "GET", "/v1/models/ID")) {
      return tl::unexpected(std::move(*error));
    }
    return Route{Endpoint::kModel, "/v1/models/ID", std::string(path.substr(kModelPrefix.size())),
                 true, false};
  }
  if (std::find(kNotBuilt.begin(), kNotBuilt.end(), path) != kNotBuilt.end()) {
    return tl::unexpected(NotFoundError(
        "not_built", fmt::format("{} is not built yet; use /v1/chat/completions", path)));
  }
  return tl::unexpected(NotFoundError(
      "not_found",
      fmt::format("there is no {} on this server; the API is under /v1", Excerpt(path))));
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace ft::server
