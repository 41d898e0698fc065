#include "core/json/write.h"

#include <cstdint>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace ft::json {
namespace {

void AppendEscapedUnit(uint32_t unit, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "\\u{:04x}", unit);
}

void AppendCodePoint(uint32_t code_point, bool ascii_only, std::string* out) {
  if (!ascii_only || code_point < 0x80) {
    AppendUtf8(code_point, out);
  } else if (code_point < 0x10000) {
    AppendEscapedUnit(code_point, out);
  } else {
    AppendEscapedUnit(0xD800 + ((code_point - 0x10000) >> 10), out);
    AppendEscapedUnit(0xDC00 + ((code_point - 0x10000) & 0x3FF), out);
  }
}

void Break(const WriteOptions& options, int level, std::string* out) {
  if (options.indent > 0) {
    *out += '\n';
    out->append(static_cast<size_t>(options.indent) * static_cast<size_t>(level), ' ');
  }
}

void Append(const Value& value, const WriteOptions& options, int level, std::string* out);

void AppendSeparator(const WriteOptions& options, std::string* out) {
  *out += options.indent == 0 && options.python_spaces ? ", " : ",";
}

void AppendArray(const Array& array, const WriteOptions& options, int level, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < array.size(); ++i) {
    if (i > 0) {
      AppendSeparator(options, out);
    }
    Break(options, level + 1, out);
    Append(array[i], options, level + 1, out);
  }
  if (!array.empty()) {
    Break(options, level, out);
  }
  *out += ']';
}

void AppendObject(const Object& object, const WriteOptions& options, int level, std::string* out) {
  *out += '{';
  bool is_first = true;
  for (const Member& member : object) {
    if (!is_first) {
      AppendSeparator(options, out);
    }
    is_first = false;
    Break(options, level + 1, out);
    AppendQuoted(member.key, out, options.ascii_only);
    *out += options.indent > 0 || options.python_spaces ? ": " : ":";
    Append(member.value, options, level + 1, out);
  }
  if (!object.empty()) {
    Break(options, level, out);
  }
  *out += '}';
}

// Recursion is bounded: documents come from Parse (max_depth) or from our own code.
void Append(const Value& value, const WriteOptions& options, int level, std::string* out) {
  switch (value.kind()) {
    case Kind::kNull:
      *out += "null";
      return;
    case Kind::kBool:
      *out += value.as_bool() ? "true" : "false";
      return;
    case Kind::kNumber:
      *out += value.as_number().text;
      return;
    case Kind::kString:
      AppendQuoted(value.as_string(), out, options.ascii_only);
      return;
    case Kind::kArray:
      AppendArray(value.as_array(), options, level, out);
      return;
    case Kind::kObject:
      AppendObject(value.as_object(), options, level, out);
      return;
  }
}

}  // namespace

void AppendQuoted(std::string_view text, std::string* out, bool ascii_only) {
  *out += '"';
  size_t at = 0;
  while (at < text.size()) {
    const uint32_t code_point = DecodeUtf8(text, &at);
    switch (code_point) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      case '\b':
        *out += "\\b";
        break;
      case '\f':
        *out += "\\f";
        break;
      default:
        if (code_point < 0x20) {
          AppendEscapedUnit(code_point, out);
        } else {
          AppendCodePoint(code_point, ascii_only, out);
        }
    }
  }
  *out += '"';
}

std::string Write(const Value& value, const WriteOptions& options) {
  std::string out;
  Append(value, options, 0, &out);
  return out;
}

}  // namespace ft::json
