// Types of tool arguments: what the request's schema says a parameter is, and a value made to fit.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/json/value.h"

namespace ft::parsers {

// The request's `tools`. Anything in it that cannot be read counts as not said.
class ToolSchemas {
 public:
  // `tools_json`: an array of {"type": "function", "function": {"name", "parameters"}}, or empty.
  explicit ToolSchemas(std::string_view tools_json);

  // The `parameters` schema of a function, or null.
  const json::Value* Parameters(std::string_view function) const;

  // The schema of one parameter, or null. `parameters` may be null.
  static const json::Value* Parameter(const json::Value* parameters, std::string_view key);

 private:
  json::Value tools_;
};

// A value that was written as bare text (<parameter=n>5.0</parameter>) as the type its schema asks
// for: the first of null, boolean, integer, number, array, object, string that the schema allows
// and the text is. Text that is none of them stays what it is: a value is never dropped. Without a
// schema, JSON is taken as JSON and the rest as a string. `root`: where "#/$defs/..." is looked up.
json::Value TypedFromText(std::string_view text,
                          const json::Value* schema,
                          const json::Value* root);

// A JSON value made to fit: 5.0 becomes 5 for an integer, "5" too where strings are not allowed,
// and 5 becomes "5" for a string. What does not fit stays as it is.
json::Value TypedFromJson(json::Value value, const json::Value* schema, const json::Value* root);

}  // namespace ft::parsers
