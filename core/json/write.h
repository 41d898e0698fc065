// json::Value to text. Numbers go out as they were written.
#pragma once

#include <string>
#include <string_view>

#include "core/json/value.h"

namespace ft::json {

struct WriteOptions {
  int indent = 0;              ///< spaces per level; 0 = one line
  bool ascii_only = false;     ///< \uXXXX for everything beyond ASCII
  bool python_spaces = false;  ///< one line with ", " and ": ", as Python's json.dumps writes it
};

/// The document as JSON text. Invalid UTF-8 in strings becomes U+FFFD.
std::string Write(const Value& value, const WriteOptions& options = {});

/// Appends `text` as a JSON string with its quotes.
void AppendQuoted(std::string_view text, std::string* out, bool ascii_only = false);

}  // namespace ft::json
