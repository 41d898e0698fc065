// Who may talk to the server: API keys, Host and Origin headers. Pure functions over strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/server/api/error.h"
#include "core/server/server.h"

namespace ft::server {

/// The headers that decide; empty when absent.
struct AccessHeaders {
  std::string_view host = {};
  std::string_view origin = {};
  std::string_view authorization = {};
  std::string_view x_api_key = {};
};

/// Takes the same time wherever the texts differ (not where their lengths do).
bool EqualInConstantTime(std::string_view a, std::string_view b);

/// "localhost", an address in 127.0.0.0/8 or ::1, with or without a port and brackets.
bool IsLoopbackHost(std::string_view host);

/// Why the request must not be answered: 403 for a foreign Host or Origin (a page that a browser
/// got elsewhere), 401 without the key. `needs_key` is false for probes.
std::optional<ApiError> CheckAccess(const ServerOptions& options,
                                    const AccessHeaders& headers,
                                    bool needs_key);

/// Value for Access-Control-Allow-Origin, or empty: no CORS for this origin.
std::string CorsOrigin(const ServerOptions& options, std::string_view origin);

}  // namespace ft::server
