#include "core/server/http/access.h"

#include <algorithm>
#include <cctype>

namespace ft::server {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// "[::1]:80" -> "::1", "a:80" -> "a".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t close = host.find(']');
    return close == std::string_view::npos ? host : host.substr(1, close - 1);
  }
  const size_t colon = host.find(':');
  const bool is_bare_v6 =
      colon != std::string_view::npos && host.find(':', colon + 1) != std::string_view::npos;
  return is_bare_v6 ? host : host.substr(0, colon);
}

// "http://host:port" -> "host:port".
std::string_view HostOfOrigin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

bool IsOneOf(const std::vector<std::string>& all, std::string_view lower) {
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& one) { return Lower(one) == lower; });
}

ApiError Forbidden(std::string code, std::string message) {
  ApiError error = BadRequest(std::move(code), "", "{}", message);
  error.http_status = 403;
  return error;
}

bool HasKey(const ServerOptions& options, const AccessHeaders& headers) {
  constexpr std::string_view kBearer = "bearer ";
  std::string_view bearer = headers.authorization;
  if (Lower(bearer.substr(0, kBearer.size())) == kBearer) {
    bearer.remove_prefix(kBearer.size());
    while (bearer.starts_with(' ')) {
      bearer.remove_prefix(1);
    }
    if (EqualInConstantTime(bearer, options.api_key)) {
      return true;
    }
  }
  return EqualInConstantTime(headers.x_api_key, options.api_key);
}

}  // namespace

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  volatile unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = difference | static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^
                                                    static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

bool IsLoopbackHost(std::string_view host) {
  const std::string name = Lower(WithoutPort(host));
  if (name == "localhost" || name == "::1" || name == "0:0:0:0:0:0:0:1") {
    return true;
  }
  const bool is_numeric =
      !name.empty() && name.find_first_not_of("0123456789.") == std::string::npos;
  return is_numeric && name.starts_with("127.");
}

std::optional<ApiError> CheckAccess(const ServerOptions& options,
                                    const AccessHeaders& headers,
                                    bool needs_key) {
  if (IsLoopbackHost(options.host) && !headers.host.empty() && !IsLoopbackHost(headers.host)) {
    const std::string name = Lower(WithoutPort(headers.host));
    if (name != Lower(options.host) && !IsOneOf(options.allowed_hosts, name)) {
      return Forbidden("foreign_host",
                       "this server listens on loopback and answers to localhost only; the Host "
                       "header names another machine");
    }
  }
  if (!headers.origin.empty() && CorsOrigin(options, headers.origin).empty() &&
      Lower(HostOfOrigin(headers.origin)) != Lower(headers.host)) {
    return Forbidden("foreign_origin",
                     "a page of another origin may not use this server; allow it with "
                     "--cors-origins");
  }
  if (needs_key && !options.api_key.empty() && !HasKey(options, headers)) {
    ApiError error = BadRequest("invalid_api_key", "",
                                "this server wants an API key: send it as \"Authorization: Bearer "
                                "KEY\" or \"x-api-key: KEY\"");
    error.http_status = 401;
    error.type = "authentication_error";
    return error;
  }
  return std::nullopt;
}

std::string CorsOrigin(const ServerOptions& options, std::string_view origin) {
  if (origin.empty()) {
    return {};
  }
  for (const std::string& allowed : options.cors_origins) {
    if (allowed == "*") {
      return "*";
    }
    if (allowed == origin) {
      return allowed;
    }
  }
  return {};
}

}  // namespace ft::server
