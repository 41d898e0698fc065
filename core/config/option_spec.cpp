#include "core/config/option_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/base/errors.h"

namespace ft {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string Shown(const OptionSpec& spec, std::string_view text) {
  return spec.is_secret ? "the value" : "'" + std::string(text) + "'";
}

Status RangeError(const OptionSpec& spec, std::string_view text) {
  const bool has_min = spec.min > std::numeric_limits<double>::lowest();
  const bool has_max = spec.max < std::numeric_limits<double>::max();
  std::string range;
  if (has_min && has_max) {
    range = fmt::format("between {} and {}", spec.min, spec.max);
  } else {
    range = has_min ? fmt::format("at least {}", spec.min) : fmt::format("at most {}", spec.max);
  }
  return InvalidArgument("{} must be {}, not {}", spec.name, range, Shown(spec, text));
}

Result<std::string> CheckSwitch(const OptionSpec& spec, std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"}) {
    if (text == yes) {
      return std::string("true");
    }
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (text == no) {
      return std::string("false");
    }
  }
  return InvalidArgument("{} must be true or false, not {}", spec.name, Shown(spec, text));
}

Result<std::string> CheckInt(const OptionSpec& spec, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("{} must be a whole number, not {}", spec.name, Shown(spec, text));
  }
  if (static_cast<double>(value) < spec.min || static_cast<double>(value) > spec.max) {
    return RangeError(spec, text);
  }
  return std::to_string(value);
}

Result<std::string> CheckFloat(const OptionSpec& spec, std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !std::isfinite(value)) {
    return InvalidArgument("{} must be a number, not {}", spec.name, Shown(spec, text));
  }
  if (value < spec.min || value > spec.max) {
    return RangeError(spec, text);
  }
  return copy;
}

bool IsHeaderToken(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<std::string> CheckChoice(const OptionSpec& spec, std::string_view text) {
  for (const std::string& choice : spec.choices) {
    if (text == choice) {
      return choice;
    }
  }
  return InvalidArgument("{} must be one of {}, not {}", spec.name, Joined(spec.choices),
                         Shown(spec, text));
}

}  // namespace

std::string OptionSpec::EnvironmentName() const {
  std::string text = "FT_";
  for (const char c : name) {
    text += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string OptionSpec::FileKey() const {
  std::string text = name;
  for (char& c : text) {
    c = c == '-' ? '_' : c;
  }
  return text;
}

Result<uint64_t> ParseSize(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  std::string unit(end);
  for (char& c : unit) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (unit.ends_with("IB")) {
    unit.resize(unit.size() - 2);
  } else if (unit.ends_with("B")) {
    unit.resize(unit.size() - 1);
  }
  constexpr std::string_view kUnits = "KMGT";
  int power = 0;
  if (unit.size() == 1 && kUnits.find(unit[0]) != std::string_view::npos) {
    power = static_cast<int>(kUnits.find(unit[0])) + 1;
  } else if (!unit.empty()) {
    return InvalidArgument("'{}' is no size: write a number and K, M, G or T, as in 12G", text);
  }
  const double bytes = std::ldexp(number, 10 * power);
  if (end == copy.c_str() || !(bytes >= 0) || bytes > 1e18) {
    return InvalidArgument("'{}' is no size: write a number and K, M, G or T, as in 12G", text);
  }
  return static_cast<uint64_t>(bytes);
}

Result<std::string> CheckValue(const OptionSpec& spec, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return InvalidArgument("{} has a NUL character in it", spec.name);
  }
  switch (spec.type) {
    case OptionType::kSwitch:
      return CheckSwitch(spec, text);
    case OptionType::kInt:
      return CheckInt(spec, text);
    case OptionType::kFloat:
      return CheckFloat(spec, text);
    case OptionType::kChoice:
      return CheckChoice(spec, text);
    case OptionType::kSize: {
      const Result<uint64_t> bytes = ParseSize(text);
      if (!bytes.ok()) {
        return bytes.status().WithContext(spec.name);
      }
      return std::to_string(*bytes);
    }
    case OptionType::kString:
    case OptionType::kList:
      if (text.empty()) {
        return InvalidArgument("{} is empty", spec.name);
      }
      if (spec.is_secret && !IsHeaderToken(text)) {
        return InvalidArgument(
            "{} holds a space, a line break or another character that a client cannot send in a "
            "header: use printable ASCII",
            spec.name);
      }
      return std::string(text);
  }
  return std::string(text);
}

}  // namespace ft
