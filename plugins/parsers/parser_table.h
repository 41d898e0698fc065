// The C tables of ft/plugin/parser.h over Instance: no exception leaves a function.
#pragma once

#include "ft/plugin/parser.h"

namespace ft::parsers {

const ft_parser* ThinkTable();
const ft_parser* JsonCallTable();
const ft_parser* XmlCallTable();

}  // namespace ft::parsers
