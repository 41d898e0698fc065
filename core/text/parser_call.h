// The C side of a call to a parser plugin: a fresh ft_error, and what it says as a Status.
#pragma once

#include <string_view>

#include "ft/plugin/parser.h"

#include "core/base/status.h"
#include "core/text/parsers.h"

namespace ft::text {

ft_error NewParserError();

/// kPluginFault with the parser's name, origin and own words.
Status ParserFault(const Parser& parser,
                   std::string_view function,
                   ft_code code,
                   const ft_error& error);

}  // namespace ft::text
