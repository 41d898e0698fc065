// json.dumps as chat templates see it: the tojson filter of Hugging Face.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

struct JsonStyle {
  bool ascii_only = false;
  bool has_indent = false;
  std::string indent;  ///< of one level
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// From (ensure_ascii, indent, separators, sort_keys). Errors: arguments of the wrong kind.
Result<JsonStyle> MakeJsonStyle(Interp& interp, const BoundArgs& args);

/// Errors: what JSON cannot say (undefined, generators, functions …), keys that are no scalars.
Result<std::string> JsonDumps(Interp& interp, const Value& value, const JsonStyle& style);

}  // namespace ft::jinja
