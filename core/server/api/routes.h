// Which paths there are and what may be done with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/server/api/error.h"
#include "core/server/http/http_types.h"

namespace ft::server {

enum class Endpoint {
  kHealth,
  kReady,
  kMetrics,
  kModels,
  kModel,  ///< Route::argument has the id
  kConfig,
  kPlugins,
  kStats,
  kChatCompletions,
  kCompletions,
  kTokenize,
  kDetokenize
};

struct Route {
  Endpoint endpoint = Endpoint::kHealth;
  std::string_view name;  ///< the path as metrics show it; static
  std::string argument;
  bool needs_key = true;
  bool is_quiet = false;  ///< probes: logged at debug level only
};

/// The route of a request. Errors: 404 for an unknown path, or one that other servers have and this
/// one does not yet (by name); 405 with the method that would do.
ApiResult<Route> FindRoute(std::string_view method, std::string_view path);

/// `%41` to `A`. Errors: nothing when the escapes are broken.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace ft::server
