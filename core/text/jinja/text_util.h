// Small text tools of the template engine that are no operator of its language.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ft::jinja {

/// text.find(needle, from) in linear time whatever they are; npos when absent.
size_t FindText(std::string_view text, std::string_view needle, size_t from = 0);
/// The last place, or npos.
size_t FindLastText(std::string_view text, std::string_view needle);

/// Without Unicode white space at the right, at both ends.
std::string_view TrimRight(std::string_view text);
std::string_view TrimLeft(std::string_view text);

/// The value of what stands between the quotes of a Python string. Unknown escapes stay.
/// Errors: a cut or impossible escape.
Result<std::string> Unescape(std::string_view literal);

/// html.unescape.
std::string UnescapeHtml(std::string_view text);

}  // namespace ft::jinja
