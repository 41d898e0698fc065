// FieldReader: reads the members of one JSON object strictly. What nobody asked for is an error, so
// that no field is ever ignored in silence. The first error wins; its place is a path like
// "messages[0].content".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/value.h"
#include "core/server/api/error.h"

namespace ft::server {

struct NumberRange {
  double min = 0;
  double max = 0;
  bool min_excluded = false;
};

class FieldReader {
 public:
  /// `object` (any kind: another one is the first error) must outlive this. `path` is empty for the
  /// body itself.
  FieldReader(const json::Value& object, std::string path);

  // Each returns nothing when the member is absent, null or wrong; wrong is noted.
  std::optional<bool> Bool(std::string_view name);
  std::optional<int64_t> Int(std::string_view name, int64_t min, int64_t max);
  std::optional<double> Double(std::string_view name, const NumberRange& range);
  const std::string* String(std::string_view name);
  const json::Value* Array(std::string_view name);
  const json::Value* Object(std::string_view name);
  /// Any kind but null.
  const json::Value* Any(std::string_view name);

  /// These cannot change the answer: any value is accepted and dropped.
  void Ignore(std::initializer_list<std::string_view> names);
  /// Known, and not supported: only null, or the value that says the default, is accepted.
  void RefuseUnlessNull(std::initializer_list<std::string_view> names);
  void RefuseUnless(std::string_view name, const json::Value& default_value);

  /// Is there a member of this name that is not null? Does not count as reading it.
  bool Has(std::string_view name) const;

  /// Notes an error at a member (or, with an empty name, at the object itself).
  void Fail(std::string_view name, std::string code, std::string message);
  /// Notes an error made elsewhere.
  void Fail(ApiError error);

  bool failed() const { return error_.has_value(); }

  /// Path of a member: "messages[0].content".
  std::string PathOf(std::string_view name) const;

  /// The first error: noted before, or a member that was never read.
  std::optional<ApiError> Finish();

 private:
  const json::Value* Take(std::string_view name);
  void WrongType(std::string_view name, std::string_view want, const json::Value& got);

  const json::Value& object_;
  std::string path_;
  std::vector<std::string_view> taken_;
  std::optional<ApiError> error_;
};

/// A short JSON text of a value for messages; long ones are cut.
std::string Excerpt(const json::Value& value);

}  // namespace ft::server
