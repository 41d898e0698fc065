// str.format, as string.Formatter does it with the sandbox's access to attributes and items.
#include "core/base/errors.h"
#include "core/text/jinja/format.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

class Formatter {
 public:
  Formatter(Interp& interp, const CallArgs& args, bool is_markup)
      : interp_(interp), args_(args), is_markup_(is_markup) {}

  // Fields within format specs go two deep, no further.
  Result<std::string> Run(std::string_view text, int depth) {
    if (depth < 0) {
      return InvalidArgument("Max string recursion exceeded");
    }
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const char c = text[at];
      if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        return InvalidArgument("Single '}}' encountered in format string");
      } else if (c == '{') {
        FT_RETURN_IF_ERROR(AppendField(text, &at, depth, &out));
      } else {
        out += c;
        ++at;
      }
      if (out.size() > interp_.max_string_bytes()) {
        return ResourceExhausted("formatted text is longer than {} bytes",
                                 interp_.max_string_bytes());
      }
    }
    FT_RETURN_IF_ERROR(interp_.WorkBytes(out.size() + text.size()));
    return out;
  }

 private:
  // Where the brace is that closes the field whose text begins at `start`; the size when none does.
  static size_t FieldEnd(std::string_view text, size_t start) {
    int level = 1;
    for (size_t end = start; end < text.size(); ++end) {
      level += text[end] == '{' ? 1 : (text[end] == '}' ? -1 : 0);
      if (text[end] == '[') {
        // Braces in an index are part of it.
        end = std::min(text.find(']', end), text.size() - 1);
      }
      if (level == 0) {
        return end;
      }
    }
    return text.size();
  }

  Status AppendField(std::string_view text, size_t* at, int depth, std::string* out) {
    const size_t start = *at + 1;
    const size_t end = FieldEnd(text, start);
    if (end == text.size()) {
      return InvalidArgument("{}", start >= text.size() ? "Single '{' encountered in format string"
                                                        : "expected '}' before end of string");
    }
    *at = end + 1;
    const std::string_view field = text.substr(start, end - start);
    size_t name_end = 0;
    while (name_end < field.size() && field[name_end] != ':' && field[name_end] != '!') {
      if (field[name_end] == '{') {
        return InvalidArgument("unexpected '{{' in field name");
      }
      name_end =
          field[name_end] == '[' ? std::min(field.find(']', name_end), field.size() - 1) : name_end;
      ++name_end;
    }
    FT_ASSIGN_OR_RETURN(Value value, Resolve(field.substr(0, name_end)));
    std::string_view rest = field.substr(name_end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) {
        return InvalidArgument("{}", rest.size() < 2
                                         ? "end of string while looking for conversion specifier"
                                         : "expected ':' after conversion specifier");
      }
      FT_ASSIGN_OR_RETURN(value, Convert(value, rest[1]));
      rest.remove_prefix(2);
    }
    rest.remove_prefix(rest.starts_with(':') ? 1 : 0);
    FT_ASSIGN_OR_RETURN(const std::string spec, Run(rest, depth - 1));
    if (is_markup_ && value.is_markup()) {
      if (!spec.empty()) {
        return InvalidArgument("Unsupported format specification for Markup.");
      }
      *out += value.text();
      return {};
    }
    FT_ASSIGN_OR_RETURN(const std::string formatted, FormatValue(interp_, value, spec));
    *out += is_markup_ ? EscapeText(formatted) : formatted;
    return {};
  }

  Result<Value> Convert(const Value& value, char conversion) {
    if (conversion == 's') {
      FT_ASSIGN_OR_RETURN(std::string text, ToStr(interp_, value));
      return interp_.heap().Str(std::move(text));
    }
    if (conversion == 'r' || conversion == 'a') {
      CallArgs args;
      args.positional.push_back(value);
      return PercentFormat(interp_, interp_.heap().Str(conversion == 'r' ? "%r" : "%a"),
                           interp_.heap().Tuple({value}));
    }
    return InvalidArgument("Unknown conversion specifier {}", std::string(1, conversion));
  }

  // "0.name[key]…".
  Result<Value> Resolve(std::string_view field) {
    const size_t first_end = std::min(field.find_first_of(".["), field.size());
    FT_ASSIGN_OR_RETURN(Value value, First(field.substr(0, first_end)));
    for (size_t at = first_end; at < field.size();) {
      if (field[at] == '.') {
        const size_t end = std::min(field.find_first_of(".[", at + 1), field.size());
        if (end == at + 1) {
          return InvalidArgument("Empty attribute in format string");
        }
        const std::string name(field.substr(at + 1, end - at - 1));
        FT_ASSIGN_OR_RETURN(value, interp_.GetAttr(value, interp_.heap().Str(name)));
        at = end;
        continue;
      }
      const size_t close = field.find(']', at);
      if (field[at] != '[' || close == std::string_view::npos) {
        return InvalidArgument("Only '.' or '[' may follow ']' in format field specifier");
      }
      const std::string key(field.substr(at + 1, close - at - 1));
      if (key.empty()) {
        return InvalidArgument("Empty attribute in format string");
      }
      FT_ASSIGN_OR_RETURN(value, interp_.GetItem(value, KeyOf(key)));
      at = close + 1;
    }
    return value;
  }

  static bool IsNumber(std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Value KeyOf(const std::string& key) {
    return IsNumber(key) ? Value::Int(std::stoll(key)) : interp_.heap().Str(key);
  }

  Result<Value> First(std::string_view name) {
    if (name.empty() || IsNumber(name)) {
      if (name.empty() == is_manual_ && has_index_) {
        return InvalidArgument(
            "cannot switch between manual field specification and automatic "
            "field numbering");
      }
      has_index_ = true;
      is_manual_ = !name.empty();
      const size_t index = name.empty() ? next_++ : std::stoull(std::string(name));
      if (index >= args_.positional.size()) {
        return InvalidArgument("Replacement index {} out of range for positional args tuple",
                               index);
      }
      return args_.positional[index];
    }
    for (const auto& [keyword, value] : args_.keywords) {
      if (keyword == name) {
        return value;
      }
    }
    return InvalidArgument("KeyError: {}", ReprText(name));
  }

  Interp& interp_;
  const CallArgs& args_;
  const bool is_markup_;
  size_t next_ = 0;
  bool has_index_ = false;
  bool is_manual_ = false;
};

}  // namespace

Result<Value> BraceFormat(Interp& interp, const Value& text, const CallArgs& args) {
  FT_ASSIGN_OR_RETURN(std::string out,
                      Formatter(interp, args, text.is_markup()).Run(text.text(), 2));
  return interp.heap().MakeStr(std::move(out), text.is_markup());
}

}  // namespace ft::jinja
