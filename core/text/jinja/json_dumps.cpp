#include "core/text/jinja/json_dumps.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

void AppendQuoted(std::string_view text, bool ascii_only, std::string* out) {
  static constexpr std::string_view kMarks = "\"\\\n\r\t\b\f";
  static constexpr std::string_view kLetters = "\"\\nrtbf";
  *out += '"';
  const auto append_ascii = [out](char c) {
    if (const size_t i = kMarks.find(c); i != std::string_view::npos) {
      *out += '\\';
      *out += kLetters[i];
    } else if (static_cast<uint8_t>(c) < 0x20) {
      *out += fmt::format("\\u{:04x}", static_cast<uint8_t>(c));
    } else {
      *out += c;
    }
  };
  if (!ascii_only) {
    for (const char c : text) {
      append_ascii(c);
    }
  } else {
    for (const char32_t c : Decode(text)) {
      const auto code = static_cast<uint32_t>(c);
      if (code < 0x7F) {
        append_ascii(static_cast<char>(c));
      } else if (code < 0x10000) {
        *out += fmt::format("\\u{:04x}", code);
      } else {
        *out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                            0xDC00 + ((code - 0x10000) & 0x3FF));
      }
    }
  }
  *out += '"';
}

std::string FloatText(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "Infinity" : "-Infinity";
  }
  return FloatRepr(value);
}

class Dumper {
 public:
  Dumper(Interp& interp, const JsonStyle& style) : interp_(interp), style_(style) {}

  Status Append(const Value& value, int depth) {
    if (depth > kMaxValueDepth) {
      return ResourceExhausted("values are nested too deeply for tojson");
    }
    FT_RETURN_IF_ERROR(interp_.Enter());
    if (out_.size() > interp_.max_string_bytes()) {
      return ResourceExhausted("JSON text is longer than {} bytes", interp_.max_string_bytes());
    }
    switch (value.type()) {
      case Type::kMissing:
      case Type::kNone:
        out_ += "null";
        return {};
      case Type::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return {};
      case Type::kInt:
        out_ += std::to_string(value.as_int());
        return {};
      case Type::kFloat:
        out_ += FloatText(value.as_float());
        return {};
      case Type::kStr:
        FT_RETURN_IF_ERROR(interp_.WorkBytes(value.text().size() * 4));
        AppendQuoted(value.text(), style_.ascii_only, &out_);
        return {};
      case Type::kObject:
        break;
    }
    if (value.is_big_int()) {
      FT_ASSIGN_OR_RETURN(const std::string digits, IntToString(value));
      out_ += digits;
      return {};
    }
    if (value.is(ObjectKind::kList) || value.is(ObjectKind::kTuple)) {
      return AppendList(value.As<SequenceObject>()->items, depth);
    }
    if (value.is(ObjectKind::kDict)) {
      return AppendDict(value.As<DictObject>()->data, depth);
    }
    return InvalidArgument("Object of type {} is not JSON serializable", TypeName(value));
  }

  std::string Take() { return std::move(out_); }

 private:
  void NewLine(int depth) {
    if (style_.has_indent) {
      out_ += '\n';
      for (int i = 0; i < depth; ++i) {
        out_ += style_.indent;
      }
    }
  }

  Status AppendList(const Values& items, int depth) {
    if (items.empty()) {
      out_ += "[]";
      return {};
    }
    out_ += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      out_ += i == 0 ? "" : style_.item_separator;
      NewLine(depth + 1);
      FT_RETURN_IF_ERROR(Append(items[i], depth + 1));
    }
    NewLine(depth);
    out_ += ']';
    return {};
  }

  Result<std::string> KeyText(const Value& key) {
    if (key.is_str()) {
      return key.text();
    }
    if (key.is_none()) {
      return std::string("null");
    }
    if (key.is_bool()) {
      return std::string(key.as_bool() ? "true" : "false");
    }
    if (key.is_float()) {
      return FloatText(key.as_float());
    }
    if (key.is_int_like()) {
      return IntToString(key);
    }
    return InvalidArgument("keys must be str, int, float, bool or None, not {}", TypeName(key));
  }

  Status AppendDict(const DictData& data, int depth) {
    if (data.size() == 0) {
      out_ += "{}";
      return {};
    }
    std::vector<const DictData::Entry*> entries;
    for (const DictData::Entry& entry : data.entries()) {
      entries.push_back(&entry);
    }
    if (style_.sort_keys) {
      FT_RETURN_IF_ERROR(SortEntries(&entries));
    }
    out_ += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      out_ += i == 0 ? "" : style_.item_separator;
      NewLine(depth + 1);
      FT_ASSIGN_OR_RETURN(const std::string key, KeyText(entries[i]->key));
      AppendQuoted(key, style_.ascii_only, &out_);
      out_ += style_.key_separator;
      FT_RETURN_IF_ERROR(Append(entries[i]->value, depth + 1));
    }
    NewLine(depth);
    out_ += '}';
    return {};
  }

  Status SortEntries(std::vector<const DictData::Entry*>* entries) {
    // All pairs that a sort may meet are of orderable types exactly when neighbours of it are.
    Status status;
    const bool are_strings =
        std::all_of(entries->begin(), entries->end(),
                    [](const DictData::Entry* entry) { return entry->key.is_str(); });
    const bool are_numbers =
        std::all_of(entries->begin(), entries->end(),
                    [](const DictData::Entry* entry) { return entry->key.is_number(); });
    if (!are_strings && !are_numbers && entries->size() > 1) {
      return InvalidArgument("'<' not supported between the keys of a mapping");
    }
    std::stable_sort(entries->begin(), entries->end(),
                     [this](const DictData::Entry* a, const DictData::Entry* b) {
                       const Result<bool> less = Less(interp_, a->key, b->key);
                       return less.ok() && *less;
                     });
    return interp_.Work(static_cast<int64_t>(entries->size()));
  }

  Interp& interp_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

Result<JsonStyle> MakeJsonStyle(Interp& interp, const BoundArgs& args) {
  JsonStyle style;
  style.ascii_only = args.Flag(0, /*otherwise=*/false);
  style.sort_keys = args.Flag(3, /*otherwise=*/false);
  if (const Value indent = args.get(1, Value::None()); !indent.is_none()) {
    style.has_indent = true;
    style.item_separator.assign(1, ',');
    if (indent.is_str()) {
      style.indent = indent.text();
    } else {
      FT_ASSIGN_OR_RETURN(const int64_t width, args.Int(1, 0));
      if (width > 1000) {
        return ResourceExhausted("an indent of {} is more than a template may ask for", width);
      }
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
    }
  }
  if (const Value separators = args.get(2, Value::None()); !separators.is_none()) {
    FT_ASSIGN_OR_RETURN(const Values pair, ToValues(interp, separators));
    if (pair.size() != 2 || !pair[0].is_str() || !pair[1].is_str()) {
      return InvalidArgument("separators must be two strings");
    }
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  return style;
}

Result<std::string> JsonDumps(Interp& interp, const Value& value, const JsonStyle& style) {
  Dumper dumper(interp, style);
  FT_RETURN_IF_ERROR(dumper.Append(value, 0));
  return dumper.Take();
}

}  // namespace ft::jinja
