// Python's format mini-language.
#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/format.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

// Precision beyond which a double has only zeros; also a limit of work.
constexpr int kMaxPrecision = 5000;

bool IsAlign(char32_t c) {
  return c == '<' || c == '>' || c == '=' || c == '^';
}

Result<int> ReadNumber(std::u32string_view spec, size_t* at, int otherwise) {
  if (*at >= spec.size() || DecimalValue(spec[*at]) < 0) {
    return otherwise;
  }
  int64_t number = 0;
  for (; *at < spec.size() && DecimalValue(spec[*at]) >= 0; ++*at) {
    number = number * 10 + DecimalValue(spec[*at]);
    if (number > kMaxFormatWidth) {
      return ResourceExhausted("a format's width or precision is larger than {}", kMaxFormatWidth);
    }
  }
  return static_cast<int>(number);
}

Result<FormatSpec> ParseSpec(std::string_view text) {
  const std::u32string spec = Decode(text);
  FormatSpec result;
  size_t at = 0;
  const auto peek = [&] { return at < spec.size() ? spec[at] : U'\0'; };
  bool has_fill = false;
  if (spec.size() > 1 && IsAlign(spec[1])) {
    result.fill = spec[0];
    result.align = static_cast<char>(spec[1]);
    has_fill = true;
    at = 2;
  } else if (IsAlign(peek())) {
    result.align = static_cast<char>(spec[at++]);
  }
  if (peek() == '+' || peek() == '-' || peek() == ' ') {
    result.sign = static_cast<char>(spec[at++]);
  }
  at += peek() == 'z' ? 1U : 0U;
  if (peek() == '#') {
    result.alternate = true;
    ++at;
  }
  if (!has_fill && peek() == '0') {
    result.fill = '0';
    result.align = result.align == '\0' ? '=' : result.align;
    result.zero_padded = true;
    ++at;
  }
  FT_ASSIGN_OR_RETURN(result.width, ReadNumber(spec, &at, 0));
  if (peek() == ',' || peek() == '_') {
    result.grouping = static_cast<char>(spec[at++]);
  }
  if (peek() == '.') {
    ++at;
    FT_ASSIGN_OR_RETURN(result.precision, ReadNumber(spec, &at, -1));
    if (result.precision < 0) {
      return InvalidArgument("Format specifier missing precision");
    }
  }
  if (at + 1 < spec.size()) {
    return InvalidArgument("Invalid format specifier '{}'", text);
  }
  if (at < spec.size()) {
    if (spec[at] >= 0x80) {
      return InvalidArgument("Unknown format code '{}'", Encode(spec.substr(at)));
    }
    result.type = static_cast<char>(spec[at]);
  }
  return result;
}

// Separators every `group` digits, filling with zeros up to `width` when asked to.
std::string Grouped(std::string digits, char separator, int group, int width) {
  std::string out;
  int count = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    if (count == group) {
      out += separator;
      count = 0;
    }
    out += digits[i];
    ++count;
  }
  while (static_cast<int>(out.size()) < width) {
    if (count == group) {
      out += separator;
      count = 0;
    }
    out += '0';
    ++count;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Pads `sign` + `prefix` + `body` (ASCII) to the width.
std::string PadNumber(const std::string& sign, const std::string& body, const FormatSpec& spec) {
  const int size = static_cast<int>(sign.size() + body.size());
  const size_t missing = static_cast<size_t>(std::max(0, spec.width - size));
  const std::u32string fill(missing, spec.fill);
  switch (spec.align) {
    case '<':
      return sign + body + Encode(fill);
    case '=':
      return sign + Encode(fill) + body;
    case '^':
      return Encode(fill.substr(0, missing / 2)) + sign + body + Encode(fill.substr(missing / 2));
    default:
      return Encode(fill) + sign + body;
  }
}

std::string SignText(bool is_negative, char sign) {
  return is_negative ? "-" : (sign == '+' ? "+" : (sign == ' ' ? " " : ""));
}

// "%g" with Python's rules: `keep_zeros` is the alternate form, `add_point` that of repr.
std::string GeneralText(double value, int precision, bool keep_zeros, bool add_point) {
  const int digits = std::max(precision, 1);
  const std::string probe = FormatScientific(value, digits - 1);
  const int exponent = std::atoi(probe.substr(probe.find('e') + 1).c_str());
  const int fixed_below = add_point ? std::max(digits, 1) : digits;
  std::string text;
  std::string tail;
  if (exponent >= -4 && exponent < fixed_below - (add_point && exponent == digits ? 1 : 0)) {
    text = FormatFixed(value, std::max(0, digits - 1 - exponent));
  } else {
    text = probe.substr(0, probe.find('e'));
    tail = probe.substr(probe.find('e'));
  }
  if (!keep_zeros && text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  if ((keep_zeros || (add_point && tail.empty())) && text.find('.') == std::string::npos) {
    text += add_point && tail.empty() ? ".0" : ".";
  }
  return text + tail;
}

Result<std::string> FloatDigits(double value, const FormatSpec& spec) {
  const int precision = std::min(spec.precision < 0 ? 6 : spec.precision, kMaxPrecision);
  const char type = static_cast<char>(spec.type | 0x20);
  if (!std::isfinite(value)) {
    return std::string(std::isnan(value) ? "nan" : "inf") + (spec.type == '%' ? "%" : "");
  }
  switch (spec.type) {
    case 'f':
    case 'F':
      return FormatFixed(value, precision) + (spec.alternate && precision == 0 ? "." : "");
    case 'e':
    case 'E': {
      std::string text = FormatScientific(value, precision);
      if (spec.alternate && precision == 0) {
        text.insert(text.find('e'), ".");
      }
      return text;
    }
    case 'g':
    case 'G':
    case 'n':
      return GeneralText(value, precision, spec.alternate, /*add_point=*/false);
    case '%':
      return FormatFixed(value * 100, precision) + "%";
    case '\0':
      if (spec.precision < 0) {
        return FloatRepr(value);
      }
      return GeneralText(value, precision, spec.alternate, /*add_point=*/true);
    default:
      break;
  }
  return InvalidArgument("Unknown format code '{}' for object of type 'float'",
                         std::string(1, type));
}

bool IsFloatType(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

}  // namespace

Result<std::string> FormatText(Interp& interp, std::string_view text, const FormatSpec& spec) {
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() + static_cast<size_t>(spec.width) * 4));
  std::u32string chars = Decode(text);
  if (spec.precision >= 0) {
    chars = chars.substr(0, static_cast<size_t>(spec.precision));
  }
  const size_t missing = chars.size() < static_cast<size_t>(spec.width)
                             ? static_cast<size_t>(spec.width) - chars.size()
                             : 0;
  const size_t left =
      spec.align == '>' || spec.align == '=' ? missing : (spec.align == '^' ? missing / 2 : 0);
  return Encode(std::u32string(left, spec.fill) + chars +
                std::u32string(missing - left, spec.fill));
}

// An integer as the character with its number (type 'c').
Result<std::string> FormatCodePoint(Interp& interp, const BigInt& number, const FormatSpec& spec) {
  const std::optional<int64_t> code = number.ToInt64();
  if (!code || *code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)) {
    return InvalidArgument("%c arg not in range(0x110000)");
  }
  std::string text;
  AppendUtf8(static_cast<uint32_t>(*code), &text);
  FormatSpec text_spec = spec;
  text_spec.align = spec.align == '\0' ? '>' : spec.align;
  return FormatText(interp, text, text_spec);
}

int BaseOf(char type) {
  switch (type) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
    case 'X':
      return 16;
    default:
      return 10;
  }
}

Result<std::string> FormatInteger(Interp& interp, const Value& value, const FormatSpec& spec) {
  FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(spec.width) * 4));
  const BigInt number = ToBigInt(value);
  if (spec.precision >= 0) {
    return InvalidArgument("Precision not allowed in integer format specifier");
  }
  if (spec.type == 'c') {
    return FormatCodePoint(interp, number, spec);
  }
  const int base = BaseOf(spec.type);
  if (base == 10) {
    FT_ASSIGN_OR_RETURN(const std::string checked, IntToString(value));
    static_cast<void>(checked);
  }
  std::string digits = number.ToString(base);
  if (number.is_negative()) {
    digits.erase(0, 1);
  }
  std::string sign = SignText(number.is_negative(), spec.sign);
  if (spec.alternate && base != 10) {
    sign += base == 2 ? "0b" : (base == 8 ? "0o" : (spec.type == 'X' ? "0X" : "0x"));
  }
  if (spec.type == 'X') {
    digits = Upper(digits);
  }
  if (spec.grouping != '\0') {
    const bool fills = spec.align == '=' && spec.fill == '0';
    digits = Grouped(std::move(digits), spec.grouping, base == 10 ? 3 : 4,
                     fills ? spec.width - static_cast<int>(sign.size()) : 0);
  }
  return PadNumber(sign, digits, spec);
}

Result<std::string> FormatFloat(Interp& interp, double value, const FormatSpec& spec) {
  FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(spec.width) * 4 + 4096));
  const bool is_negative = std::signbit(value) && !std::isnan(value);
  FT_ASSIGN_OR_RETURN(std::string digits, FloatDigits(std::fabs(value), spec));
  if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') {
    digits = Upper(digits);
  }
  const std::string sign = SignText(is_negative, spec.sign);
  if (spec.grouping != '\0') {
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    const bool fills = spec.align == '=' && spec.fill == '0';
    const int rest = static_cast<int>(digits.size() - whole);
    digits = Grouped(digits.substr(0, whole), spec.grouping, 3,
                     fills ? spec.width - static_cast<int>(sign.size()) - rest : 0) +
             digits.substr(whole);
  }
  return PadNumber(sign, digits, spec);
}

Result<std::string> FormatValue(Interp& interp, const Value& value, std::string_view text) {
  if (text.empty()) {
    return ToStr(interp, value);
  }
  if (!value.is_str() && !value.is_number()) {
    return InvalidArgument("unsupported format string passed to {}.__format__", TypeName(value));
  }
  FT_ASSIGN_OR_RETURN(const FormatSpec spec, ParseSpec(text));
  if (value.is_str()) {
    if (spec.type != '\0' && spec.type != 's') {
      return InvalidArgument("Unknown format code '{}' for object of type 'str'",
                             std::string(1, spec.type));
    }
    if (spec.sign != '-' || spec.alternate || spec.grouping != '\0' ||
        (spec.align == '=' && !spec.zero_padded)) {
      return InvalidArgument("format specifier '{}' is not allowed for strings", text);
    }
    FormatSpec text_spec = spec;
    text_spec.align = spec.align == '=' || spec.align == '\0' ? '<' : spec.align;
    return FormatText(interp, value.text(), text_spec);
  }
  if (value.is_float() || IsFloatType(spec.type)) {
    FT_ASSIGN_OR_RETURN(const double number, ToDouble(value));
    return FormatFloat(interp, number, spec);
  }
  if (value.is_bool() && spec.type == '\0') {
    // bool has no format of its own: int's, unless the spec is empty.
  }
  if (spec.type != '\0' && std::string_view("bcdoxXn").find(spec.type) == std::string_view::npos) {
    return InvalidArgument("Unknown format code '{}' for object of type 'int'",
                           std::string(1, spec.type));
  }
  return FormatInteger(interp, value, spec);
}

}  // namespace ft::jinja
