// Python's pprint.pformat: nested values over several lines of at most 80 characters.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

Result<std::string> PrettyFormat(Interp& interp, const Value& value);

}  // namespace ft::jinja
