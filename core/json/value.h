// json::Value: one JSON document in memory. Order of keys and the written form of numbers are kept.
// Not a DOM for hot paths: servers and checkpoints read with it, kernels never see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/status.h"

namespace ft::json {

enum class Kind {
  kNull,
  kBool,
  kNumber,
  kString,
  kArray,
  kObject
};

/// Word for messages: "null", "boolean", "number", "string", "array", "object".
const char* KindName(Kind kind);

/// A number as it was written. `1` and `1.0` differ: templates and tool arguments can tell.
struct Number {
  std::string text;         ///< as written, e.g. "1.0", "-0.0", "123456789012345678901234567890"
  bool is_integer = false;  ///< neither '.', 'e' nor 'E' in the text
};

class Value;
struct Member;
using Array = std::vector<Value>;
using Object = std::vector<Member>;  ///< in file order; keys are unique (see ParseOptions)

/// A value of any kind. Copyable (deep); moves are cheap.
class Value {
 public:
  Value();                        ///< null
  Value(bool value);              // NOLINT(google-explicit-constructor)
  Value(int value);               // NOLINT(google-explicit-constructor)
  Value(int64_t value);           // NOLINT(google-explicit-constructor)
  Value(uint64_t value);          // NOLINT(google-explicit-constructor)
  Value(double value);            // NOLINT(google-explicit-constructor)
  Value(const char* value);       // NOLINT(google-explicit-constructor)
  Value(std::string_view value);  // NOLINT(google-explicit-constructor)
  Value(std::string value);       // NOLINT(google-explicit-constructor)
  Value(Number value);            // NOLINT(google-explicit-constructor)
  Value(Array value);             // NOLINT(google-explicit-constructor)
  Value(Object value);            // NOLINT(google-explicit-constructor)

  /// An empty object or array to add to.
  static Value MakeObject();
  static Value MakeArray();

  Kind kind() const { return static_cast<Kind>(data_.index()); }

  bool is_null() const { return kind() == Kind::kNull; }

  bool is_bool() const { return kind() == Kind::kBool; }

  bool is_number() const { return kind() == Kind::kNumber; }

  bool is_string() const { return kind() == Kind::kString; }

  bool is_array() const { return kind() == Kind::kArray; }

  bool is_object() const { return kind() == Kind::kObject; }

  // Each requires the matching kind.
  bool as_bool() const;
  const Number& as_number() const;
  const std::string& as_string() const;
  const Array& as_array() const;
  Array& as_array();
  const Object& as_object() const;
  Object& as_object();

  /// The number as int64: integers that fit, and floats that are whole (`5.0`). Nothing otherwise.
  std::optional<int64_t> ToInt64() const;
  /// The number as the nearest double. Nothing if this is no number.
  std::optional<double> ToDouble() const;

  /// The member called `key`, or null when this is no object or has none. Linear in the members.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);

  /// Adds or replaces a member, and appends an element. Requires an object / array.
  void Set(std::string_view key, Value value);
  void Append(Value value);

  /// Same kind and content; numbers compare by written form, objects by members in any order.
  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::nullptr_t, bool, Number, std::string, Array, Object> data_;  // first: null
};

struct Member {
  std::string key;
  Value value;
};

// Here, and not in the class: they need Member whole (clang checks it, gcc does not).
inline Value::Value() = default;

inline Value::Value(bool value) : data_(value) {}

inline Value::Value(int value) : Value(static_cast<int64_t>(value)) {}

inline Value::Value(const char* value) : data_(std::string(value)) {}

inline Value::Value(std::string_view value) : data_(std::string(value)) {}

inline Value::Value(std::string value) : data_(std::move(value)) {}

inline Value::Value(Number value) : data_(std::move(value)) {}

}  // namespace ft::json
