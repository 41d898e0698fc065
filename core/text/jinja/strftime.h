// datetime.strftime in the C locale, as Python on Linux does it.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ft::jinja {

/// `format` with the fields of `given`; of these tm_wday and tm_yday are computed here.
/// Errors: the result is too long.
Result<std::string> FormatTime(std::string_view format, const std::tm& given);

}  // namespace ft::jinja
