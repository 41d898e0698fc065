// Turns addresses in text into links: jinja2.utils.urlize.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace ft::jinja {

struct UrlizeOptions {
  int64_t trim_limit = -1;  ///< characters of an address that are shown; negative: all
  std::string rel;
  std::string target;  ///< empty: none
  std::vector<std::string> extra_schemes;
};

/// `escaped`: text that is escaped for HTML already.
Result<std::string> Urlize(std::string_view escaped, const UrlizeOptions& options);

/// Whether `scheme` looks like "tel:" or "ftp://".
bool IsUriScheme(std::string_view scheme);

}  // namespace ft::jinja
