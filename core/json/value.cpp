#include "core/json/value.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "core/base/check.h"

namespace ft::json {

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "boolean";
    case Kind::kNumber:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
  }
  return "null";
}

Value::Value(int64_t value) : data_(Number{fmt::format("{}", value), true}) {}

Value::Value(uint64_t value) : data_(Number{fmt::format("{}", value), true}) {}

Value::Value(double value) {
  if (!std::isfinite(value)) {
    return;  // JSON has no infinities: null, as every writer of JSON does.
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  data_ = Number{std::move(text), false};
}

Value::Value(Array value) : data_(std::move(value)) {}

Value::Value(Object value) : data_(std::move(value)) {}

Value Value::MakeObject() {
  return Value(Object{});
}

Value Value::MakeArray() {
  return Value(Array{});
}

bool Value::as_bool() const {
  FT_CHECK(is_bool());
  return std::get<bool>(data_);
}

const Number& Value::as_number() const {
  FT_CHECK(is_number());
  return std::get<Number>(data_);
}

const std::string& Value::as_string() const {
  FT_CHECK(is_string());
  return std::get<std::string>(data_);
}

const Array& Value::as_array() const {
  FT_CHECK(is_array());
  return std::get<Array>(data_);
}

Array& Value::as_array() {
  FT_CHECK(is_array());
  return std::get<Array>(data_);
}

const Object& Value::as_object() const {
  FT_CHECK(is_object());
  return std::get<Object>(data_);
}

Object& Value::as_object() {
  FT_CHECK(is_object());
  return std::get<Object>(data_);
}

std::optional<int64_t> Value::ToInt64() const {
  if (!is_number()) {
    return std::nullopt;
  }
  const std::string& text = as_number().text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) {
    return value;
  }
  constexpr double kLimit = 9007199254740992.0;  // 2^53: above it a double is no exact integer
  const double number = *ToDouble();
  if (!as_number().is_integer && std::floor(number) == number && std::fabs(number) <= kLimit) {
    return static_cast<int64_t>(number);
  }
  return std::nullopt;
}

std::optional<double> Value::ToDouble() const {
  if (!is_number()) {
    return std::nullopt;
  }
  return std::strtod(as_number().text.c_str(), nullptr);
}

const Value* Value::Find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  for (const Member& member : as_object()) {
    if (member.key == key) {
      return &member.value;
    }
  }
  return nullptr;
}

Value* Value::Find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).Find(key));  // NOLINT: same object, not const
}

void Value::Set(std::string_view key, Value value) {
  if (Value* found = Find(key)) {
    *found = std::move(value);
    return;
  }
  as_object().push_back(Member{std::string(key), std::move(value)});
}

void Value::Append(Value value) {
  as_array().push_back(std::move(value));
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.as_bool() == b.as_bool();
    case Kind::kNumber:
      return a.as_number().text == b.as_number().text;
    case Kind::kString:
      return a.as_string() == b.as_string();
    case Kind::kArray:
      return a.as_array() == b.as_array();
    case Kind::kObject: {
      if (a.as_object().size() != b.as_object().size()) {
        return false;
      }
      for (const Member& member : a.as_object()) {
        const Value* other = b.Find(member.key);
        if (other == nullptr || !(*other == member.value)) {
          return false;
        }
      }
      return true;
    }
  }
  return false;
}

}  // namespace ft::json
