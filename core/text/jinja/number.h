// Numbers as Python reads and prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

/// More digits than this are refused, as Python's int() and str() do.
inline constexpr size_t kMaxIntDigits = 4300;

/// repr(float): shortest digits, "1e+16", "1.0", "inf", "nan".
std::string FloatRepr(double value);

/// `value` with `digits` behind the point, correctly rounded; as C's "%.*f".
std::string FormatFixed(double value, int digits);
/// As C's "%.*e" with at least two digits of exponent.
std::string FormatScientific(double value, int digits);

/// int(text, base): white space around, sign, prefix, underscores, any decimal digits. Nothing
/// when Python raises ValueError. `base` 0 or 2..36.
std::optional<BigInt> ParseInt(std::string_view text, int base);
/// float(text). Nothing when Python raises ValueError.
std::optional<double> ParseFloat(std::string_view text);

/// Any int-like value as a BigInt. Requires value.is_int_like().
BigInt ToBigInt(const Value& value);

/// float(value) of a number. Errors: too large an int.
Result<double> ToDouble(const Value& value);

/// round(value, digits) of a float, half to even on the decimal expansion.
double RoundFloat(double value, int64_t digits);

/// An index-like argument (int or bool; clamped to int64). Nothing for other types.
std::optional<int64_t> ToIndex(const Value& value);

/// str(int) of an int-like value (not bool). Errors: more than kMaxIntDigits digits.
Result<std::string> IntToString(const Value& value);

}  // namespace ft::jinja
