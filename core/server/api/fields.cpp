#include "core/server/api/fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/utf8.h"
#include "core/json/write.h"

namespace ft::server {

namespace {

// Enough to recognise what was sent.
std::string Cut(std::string text) {
  constexpr size_t kMaxBytes = 60;
  if (text.size() > kMaxBytes) {
    text.resize(kMaxBytes);
    text.resize(text.size() - IncompleteUtf8Suffix(text));
    text += "…";
  }
  return text;
}

}  // namespace

std::string Excerpt(const json::Value& value) {
  if (value.is_array() || value.is_object()) {
    return std::string(json::KindName(value.kind())) == "array" ? "an array" : "an object";
  }
  return Cut(json::Write(value));
}

FieldReader::FieldReader(const json::Value& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object.is_object()) {
    Fail("", "invalid_type",
         fmt::format("{} must be an object, not {}", path_.empty() ? "the body" : path_,
                     Excerpt(object)));
  }
}

std::string FieldReader::PathOf(std::string_view name) const {
  if (name.empty()) {
    return path_;
  }
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void FieldReader::Fail(ApiError error) {
  if (!error_.has_value()) {
    error_ = std::move(error);
  }
}

void FieldReader::Fail(std::string_view name, std::string code, std::string message) {
  Fail(BadRequest(std::move(code), PathOf(name), "{}", message));
}

void FieldReader::WrongType(std::string_view name, std::string_view want, const json::Value& got) {
  Fail(name, "invalid_type",
       fmt::format("{} must be {}, not {}", PathOf(name), want, Excerpt(got)));
}

const json::Value* FieldReader::Take(std::string_view name) {
  taken_.push_back(name);
  const json::Value* value = object_.Find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool FieldReader::Has(std::string_view name) const {
  const json::Value* value = object_.Find(name);
  return value != nullptr && !value->is_null();
}

std::optional<bool> FieldReader::Bool(std::string_view name) {
  const json::Value* value = Take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_bool()) {
    WrongType(name, "true or false", *value);
    return std::nullopt;
  }
  return value->as_bool();
}

std::optional<int64_t> FieldReader::Int(std::string_view name, int64_t min, int64_t max) {
  const json::Value* value = Take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<int64_t> number = value->is_number() ? value->ToInt64() : std::nullopt;
  const bool is_too_large_integer =
      value->is_number() && !number.has_value() && value->as_number().is_integer;
  if (!number.has_value() && !is_too_large_integer) {
    WrongType(name, "an integer", *value);
    return std::nullopt;
  }
  if (is_too_large_integer || *number < min || *number > max) {
    Fail(name, "invalid_value",
         fmt::format("{} must be from {} to {}, not {}", PathOf(name), min, max, Excerpt(*value)));
    return std::nullopt;
  }
  return number;
}

std::optional<double> FieldReader::Double(std::string_view name, const NumberRange& range) {
  const json::Value* value = Take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> number = value->ToDouble();
  if (!number.has_value()) {
    WrongType(name, "a number", *value);
    return std::nullopt;
  }
  const bool below = range.min_excluded ? !(*number > range.min) : !(*number >= range.min);
  if (below || !(*number <= range.max)) {
    Fail(name, "invalid_value",
         fmt::format("{} must be {} {} and at most {}, not {}", PathOf(name),
                     range.min_excluded ? "more than" : "at least", range.min, range.max,
                     Excerpt(*value)));
    return std::nullopt;
  }
  return number;
}

const std::string* FieldReader::String(std::string_view name) {
  const json::Value* value = Take(name);
  if (value != nullptr && !value->is_string()) {
    WrongType(name, "a string", *value);
    return nullptr;
  }
  return value == nullptr ? nullptr : &value->as_string();
}

const json::Value* FieldReader::Array(std::string_view name) {
  const json::Value* value = Take(name);
  if (value != nullptr && !value->is_array()) {
    WrongType(name, "an array", *value);
    return nullptr;
  }
  return value;
}

const json::Value* FieldReader::Object(std::string_view name) {
  const json::Value* value = Take(name);
  if (value != nullptr && !value->is_object()) {
    WrongType(name, "an object", *value);
    return nullptr;
  }
  return value;
}

const json::Value* FieldReader::Any(std::string_view name) {
  return Take(name);
}

void FieldReader::Ignore(std::initializer_list<std::string_view> names) {
  taken_.insert(taken_.end(), names.begin(), names.end());
}

void FieldReader::RefuseUnlessNull(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (Take(name) != nullptr) {
      Fail(name, "unsupported_parameter", fmt::format("{} is not supported", PathOf(name)));
    }
  }
}

void FieldReader::RefuseUnless(std::string_view name, const json::Value& default_value) {
  const json::Value* value = Take(name);
  if (value != nullptr && !(*value == default_value)) {
    Fail(name, "unsupported_parameter",
         fmt::format("{} = {} is not supported; leave it out", PathOf(name), Excerpt(*value)));
  }
}

std::optional<ApiError> FieldReader::Finish() {
  if (error_.has_value() || !object_.is_object()) {
    return error_;
  }
  for (const json::Member& member : object_.as_object()) {
    if (std::find(taken_.begin(), taken_.end(), member.key) == taken_.end()) {
      const std::string name = Cut(member.key);
      Fail(BadRequest("unknown_parameter", PathOf(name), "unknown field \"{}\"{}", name,
                      path_.empty() ? "" : " in " + path_));
      break;
    }
  }
  return error_;
}

}  // namespace ft::server
