#include "core/text/jinja/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

std::u32string_view StripSpace(std::u32string_view chars) {
  while (!chars.empty() && IsSpace(chars.front())) {
    chars.remove_prefix(1);
  }
  while (!chars.empty() && IsSpace(chars.back())) {
    chars.remove_suffix(1);
  }
  return chars;
}

// The value of a digit in bases up to 36, or 99.
int DigitValue(char32_t c) {
  if (const int decimal = DecimalValue(c); decimal >= 0) {
    return decimal;
  }
  const char32_t lower = c | 0x20;
  return c < 0x80 && lower >= 'a' && lower <= 'z' ? static_cast<int>(lower - 'a') + 10 : 99;
}

int PrefixBase(std::u32string_view chars) {
  if (chars.size() < 2 || chars[0] != '0') {
    return 0;
  }
  switch (chars[1] | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 0;
  }
}

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  std::array<char, 64> buffer = {};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<size_t>(result.ptr - buffer.data()));
  std::string out;
  if (text.front() == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  if (const size_t dot = digits.find('.'); dot != std::string::npos) {
    digits.erase(dot, 1);
  }
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) {
      out += "." + digits.substr(1);
    }
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return out + digits + std::string(whole - digits.size(), '0') + ".0";
  }
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string FormatFixed(double value, int digits) {
  std::string out(static_cast<size_t>(std::snprintf(nullptr, 0, "%.*f", digits, value)), '\0');
  static_cast<void>(std::snprintf(out.data(), out.size() + 1, "%.*f", digits, value));
  return out;
}

std::string FormatScientific(double value, int digits) {
  std::string out(static_cast<size_t>(std::snprintf(nullptr, 0, "%.*e", digits, value)), '\0');
  static_cast<void>(std::snprintf(out.data(), out.size() + 1, "%.*e", digits, value));
  return out;
}

std::optional<BigInt> ParseInt(std::string_view text, int base) {
  const std::u32string decoded = Decode(text);
  std::u32string_view chars = StripSpace(decoded);
  bool is_negative = false;
  if (!chars.empty() && (chars[0] == '-' || chars[0] == '+')) {
    is_negative = chars[0] == '-';
    chars.remove_prefix(1);
  }
  const int prefix = PrefixBase(chars);
  bool may_underscore = false;
  bool must_be_zero = false;
  if (base == 0) {
    must_be_zero = prefix == 0 && !chars.empty() && chars[0] == '0';
    base = prefix == 0 ? 10 : prefix;
  }
  if (prefix == base && prefix != 0) {
    chars.remove_prefix(2);
    may_underscore = true;
  }
  std::string digits;
  for (const char32_t c : chars) {
    if (c == '_') {
      if (!may_underscore) {
        return std::nullopt;
      }
      may_underscore = false;
      continue;
    }
    const int digit = DigitValue(c);
    if (digit >= base || (must_be_zero && digit != 0)) {
      return std::nullopt;
    }
    digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit];
    may_underscore = true;
  }
  if (digits.empty() || !may_underscore || digits.size() > kMaxIntDigits) {
    return std::nullopt;
  }
  const BigInt number = BigInt::FromDigits(digits, base);
  return is_negative ? number.Negated() : number;
}

namespace {

// The text of a float in lower case ASCII, without spaces around it and underscores between digits;
// nothing when it cannot be a float.
std::optional<std::string> AsciiOfFloat(std::string_view text) {
  const std::u32string decoded = Decode(text);
  std::string ascii;
  char32_t previous = 0;
  for (const char32_t c : StripSpace(decoded)) {
    const int digit = DecimalValue(c);
    const bool is_misplaced = c == '_' ? DecimalValue(previous) < 0 : previous == '_' && digit < 0;
    if (is_misplaced || (digit < 0 && c >= 0x80)) {
      return std::nullopt;
    }
    if (digit >= 0) {
      ascii += static_cast<char>('0' + digit);
    } else if (c != '_') {
      ascii += static_cast<char>(c | (c >= 'A' && c <= 'Z' ? 0x20U : 0U));
    }
    previous = c;
  }
  if (ascii.empty() || previous == '_') {
    return std::nullopt;
  }
  return ascii;
}

}  // namespace

std::optional<double> ParseFloat(std::string_view text) {
  const std::optional<std::string> ascii = AsciiOfFloat(text);
  if (!ascii) {
    return std::nullopt;
  }
  std::string_view body = *ascii;
  const bool is_negative = body[0] == '-';
  if (body[0] == '-' || body[0] == '+') {
    body.remove_prefix(1);
  }
  double value = 0;
  if (body == "inf" || body == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (body == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (body.empty() || body.find_first_not_of("0123456789.e+-") != std::string_view::npos) {
      return std::nullopt;
    }
    const std::string terminated(body);
    char* end = nullptr;
    if (body[0] == '+' || body[0] == '-') {
      return std::nullopt;
    }
    value = std::strtod(terminated.c_str(), &end);
    if (end != terminated.c_str() + terminated.size()) {
      return std::nullopt;
    }
  }
  return is_negative ? -value : value;
}

BigInt ToBigInt(const Value& value) {
  return value.is_big_int() ? value.As<BigIntObject>()->number : BigInt(value.as_int());
}

Result<double> ToDouble(const Value& value) {
  if (value.is_float()) {
    return value.as_float();
  }
  if (!value.is_big_int()) {
    return static_cast<double>(value.as_int());
  }
  const double number = value.As<BigIntObject>()->number.ToDouble();
  if (std::isinf(number)) {
    return InvalidArgument("int too large to convert to float");
  }
  return number;
}

double RoundFloat(double value, int64_t digits) {
  // Beyond these nothing changes, or everything goes: Python's own limits.
  constexpr int64_t kMostDigits = 323;
  constexpr int64_t kFewestDigits = -309;
  if (!std::isfinite(value) || digits > kMostDigits) {
    return value;
  }
  if (digits < kFewestDigits) {
    return std::copysign(0.0, value);
  }
  if (digits >= 0) {
    return std::strtod(FormatFixed(value, static_cast<int>(digits)).c_str(), nullptr);
  }
  // To tens, hundreds …: the same in decimal digits, half to even on the exact value.
  const std::string probe = FormatScientific(value, 17);
  const int leading = std::atoi(probe.substr(probe.find('e') + 1).c_str());
  const int64_t keep = static_cast<int64_t>(leading) + digits;
  if (keep < -1) {
    return std::copysign(0.0, value);
  }
  if (keep == -1) {
    // One digit above the first: up only when more than half of it.
    const double half = 5 * std::pow(10.0, static_cast<double>(-digits - 1));
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::copysign(std::fabs(value) > half ? unit : 0.0, value);
  }
  return std::strtod(FormatScientific(value, static_cast<int>(keep)).c_str(), nullptr);
}

std::optional<int64_t> ToIndex(const Value& value) {
  if (value.is_small_int() || value.is_bool()) {
    return value.as_int();
  }
  if (value.is_big_int()) {
    return value.As<BigIntObject>()->number.is_negative() ? std::numeric_limits<int64_t>::min()
                                                          : std::numeric_limits<int64_t>::max();
  }
  return std::nullopt;
}

Result<std::string> IntToString(const Value& value) {
  if (!value.is_big_int()) {
    return std::to_string(value.as_int());
  }
  const BigInt& number = value.As<BigIntObject>()->number;
  // A decimal digit is more than 3.3 bits: a cheap bound first.
  if (number.BitLength() > kMaxIntDigits * 34 / 10) {
    return InvalidArgument("Exceeds the limit ({} digits) for integer string conversion",
                           kMaxIntDigits);
  }
  std::string text = number.ToString();
  if (text.size() > kMaxIntDigits + (number.is_negative() ? 1 : 0)) {
    return InvalidArgument("Exceeds the limit ({} digits) for integer string conversion",
                           kMaxIntDigits);
  }
  return text;
}

}  // namespace ft::jinja
