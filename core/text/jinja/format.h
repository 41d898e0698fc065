// Python's three ways to format text: "%" , str.format, and the format mini-language below them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

class Interp;

/// text % values (format_percent.cpp).
Result<Value> PercentFormat(Interp& interp, const Value& text, const Value& values);

/// text.format(*positional, **keywords), with the sandbox's access to members (format_brace.cpp).
Result<Value> BraceFormat(Interp& interp, const Value& text, const CallArgs& args);

/// format(value, text) (format_spec.cpp).
Result<std::string> FormatValue(Interp& interp, const Value& value, std::string_view text);

/// The "[[fill]align][sign][z][#][0][width][grouping][.precision][type]" of a field.
struct FormatSpec {
  char32_t fill = ' ';
  char align = '\0';
  char sign = '-';
  bool alternate = false;
  bool zero_padded = false;
  int width = 0;
  char grouping = '\0';
  int precision = -1;
  char type = '\0';
};

/// An int-like value as 'b', 'c', 'd', 'o', 'x', 'X', 'n' would show it, padded.
Result<std::string> FormatInteger(Interp& interp, const Value& value, const FormatSpec& spec);
/// A number as 'e', 'f', 'g', '%' and their kin would show it, padded.
Result<std::string> FormatFloat(Interp& interp, double value, const FormatSpec& spec);
/// Text cut to the precision and padded to the width, in characters.
Result<std::string> FormatText(Interp& interp, std::string_view text, const FormatSpec& spec);

/// Largest width and precision.
inline constexpr int kMaxFormatWidth = 1'000'000;

}  // namespace ft::jinja
