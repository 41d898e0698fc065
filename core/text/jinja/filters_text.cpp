// Filters over text.
#include <algorithm>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/format.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/pprint.h"
#include "core/text/jinja/pystring.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"
#include "core/text/jinja/wordwrap.h"

namespace ft::jinja {
namespace {

// soft_str: strings as they are, marked or not; others printed.
Result<Value> SoftStr(Interp& interp, const Value& value) {
  if (value.is_str()) {
    return value;
  }
  FT_ASSIGN_OR_RETURN(std::string text, ToStr(interp, value));
  return interp.heap().Str(std::move(text));
}

// A filter that is a method of the printed value.
Result<Value> CallMethod(Interp& interp,
                         const Value& value,
                         std::string_view method,
                         CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, value));
  return FindStringMethod(method)(interp, text, args);
}

Result<Value> UpperFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("upper", args));
  return CallMethod(interp, value, "upper", args);
}

Result<Value> LowerFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("lower", args));
  return CallMethod(interp, value, "lower", args);
}

Result<Value> CapitalizeFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("capitalize", args));
  return CallMethod(interp, value, "capitalize", args);
}

Result<Value> Trim(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("trim", args, {"chars"}, {}));
  CallArgs strip;
  strip.positional.push_back(bound.get(0, Value::None()));
  return CallMethod(interp, value, "strip", strip);
}

Result<Value> Center(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("center", args, {"width"}, {}));
  CallArgs center;
  center.positional.push_back(bound.get(0, Value::Int(80)));
  return CallMethod(interp, value, "center", center);
}

// Words begin after these; "it's" stays one word.
Result<Value> TitleFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("title", args));
  FT_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, value));
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.text().size() * 16));
  const std::u32string chars = Decode(text.text());
  const auto is_break = [](char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpace(c);
  };
  std::string out;
  for (size_t at = 0; at < chars.size();) {
    size_t end = at;
    while (end < chars.size() && is_break(chars[end]) == is_break(chars[at])) {
      ++end;
    }
    out += Upper(Encode(std::u32string_view(chars).substr(at, 1)));
    out += Lower(Encode(std::u32string_view(chars).substr(at + 1, end - at - 1)));
    at = end;
  }
  return interp.heap().Str(std::move(out));
}

Result<Value> String(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("string", args));
  return SoftStr(interp, value);
}

Result<Value> Replace(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("replace", args, {"old", "new", "count"}, {.num_required = 2}));
  int64_t count = -1;
  if (bound.has(2) && !bound.at(2).is_none()) {
    FT_ASSIGN_OR_RETURN(count, bound.Int(2, -1));
  }
  FT_ASSIGN_OR_RETURN(std::string text, ToStr(interp, value));
  FT_ASSIGN_OR_RETURN(const std::string old_text, ToStr(interp, bound.at(0)));
  FT_ASSIGN_OR_RETURN(std::string new_text, ToStr(interp, bound.at(1)));
  bool is_markup = false;
  if (interp.autoescape()) {
    const bool escapes = bound.at(0).is_markup() || (bound.at(1).is_markup() && !value.is_markup());
    text = escapes && !value.is_markup() ? EscapeText(text) : text;
    is_markup = escapes || value.is_markup();
    new_text = is_markup && !bound.at(1).is_markup() ? EscapeText(new_text) : new_text;
  }
  FT_ASSIGN_OR_RETURN(text, ReplaceText(interp, text, old_text, new_text, count));
  return interp.heap().MakeStr(std::move(text), is_markup);
}

Result<Value> Format(Interp& interp, const Value& value, CallArgs& args) {
  if (!args.positional.empty() && !args.keywords.empty()) {
    return InvalidArgument("can't handle positional and keyword arguments at the same time");
  }
  FT_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, value));
  if (args.keywords.empty()) {
    return PercentFormat(interp, text, interp.heap().Tuple(args.positional));
  }
  auto* fields = interp.heap().New<DictObject>();
  for (const auto& [name, field] : args.keywords) {
    fields->data.SetStr(interp.heap().Str(name), field);
  }
  return PercentFormat(interp, text, Value::Obj(fields));
}

Result<Value> Indent(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("indent", args, {"width", "first", "blank"}, {}));
  std::string indent;
  if (bound.has(0) && bound.at(0).is_str()) {
    indent = bound.at(0).text();
  } else {
    FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0, 4));
    if (width > 100'000) {
      return ResourceExhausted("an indent of {} is more than a template may ask for", width);
    }
    indent = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
  }
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  if (!value.is_str()) {
    return InvalidArgument("indent needs text, not {}", TypeName(value));
  }
  indent =
      value.is_markup() && bound.has(0) && !bound.at(0).is_markup() ? EscapeText(indent) : indent;
  const bool indents_blank = bound.Flag(2, /*otherwise=*/false);
  // Splitting drops an end of line, so one is added first.
  const std::string text = value.text() + "\n";
  std::string out = bound.Flag(1, /*otherwise=*/false) ? indent : "";
  bool is_first = true;
  for (const std::string_view line : SplitLines(text, /*keeps_ends=*/false)) {
    if (!is_first) {
      out += '\n';
      out += indents_blank || !line.empty() ? indent : "";
    }
    is_first = false;
    out += line;
    if (out.size() > interp.max_string_bytes()) {
      return ResourceExhausted("indented text is longer than {} bytes", interp.max_string_bytes());
    }
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(out.size()));
  return interp.heap().MakeStr(std::move(out), value.is_markup());
}

Result<Value> Truncate(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("truncate", args, {"length", "killwords", "end", "leeway"}, {}));
  FT_ASSIGN_OR_RETURN(const int64_t length, bound.Int(0, 255));
  const Value end = bound.get(2, interp.heap().Str("..."));
  int64_t leeway = 5;
  if (bound.has(3) && !bound.at(3).is_none()) {
    FT_ASSIGN_OR_RETURN(leeway, bound.Int(3, 5));
  }
  FT_ASSIGN_OR_RETURN(const int64_t end_length, Length(interp, end));
  if (length < end_length) {
    return InvalidArgument("expected length >= {}, got {}", end_length, length);
  }
  if (leeway < 0) {
    return InvalidArgument("expected leeway >= 0, got {}", leeway);
  }
  FT_ASSIGN_OR_RETURN(const int64_t size, Length(interp, value));
  if (leeway > size || size <= length + leeway) {
    return value;
  }
  if (!value.is_str() || !end.is_str()) {
    return InvalidArgument("truncate needs text, not {}", TypeName(value));
  }
  std::string text(Substring(value.str(), 0, length - end_length));
  if (!bound.Flag(1, /*otherwise=*/false)) {
    text = text.substr(0, text.rfind(' '));
  }
  const bool is_markup = value.is_markup() || end.is_markup();
  std::string tail = value.is_markup() && !end.is_markup() ? EscapeText(end.text()) : end.text();
  text = end.is_markup() && !value.is_markup() ? EscapeText(text) : text;
  return interp.heap().MakeStr(text + tail, is_markup);
}

Result<Value> WordCount(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("wordcount", args));
  FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, value));
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() * 8));
  int64_t count = 0;
  bool is_inside = false;
  for (const char32_t c : Decode(text)) {
    count += IsWord(c) && !is_inside ? 1 : 0;
    is_inside = IsWord(c);
  }
  return Value::Int(count);
}

Result<Value> WordWrap(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("wordwrap", args,
                      {"width", "break_long_words", "wrapstring", "break_on_hyphens"}, {}));
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  if (!value.is_str()) {
    return InvalidArgument("'{}' object has no attribute 'splitlines'", TypeName(value));
  }
  WrapOptions options;
  FT_ASSIGN_OR_RETURN(options.width, bound.Int(0, 79));
  options.breaks_long_words = bound.Flag(1, /*otherwise=*/true);
  options.breaks_on_hyphens = bound.Flag(3, /*otherwise=*/true);
  std::string between = "\n";
  if (bound.has(2) && !bound.at(2).is_none()) {
    FT_ASSIGN_OR_RETURN(between, ToStr(interp, bound.at(2)));
  }
  if (options.width <= 0) {
    return InvalidArgument("invalid width {} (must be > 0)", options.width);
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(value.text().size() * 32));
  std::string out;
  bool is_first = true;
  for (const std::string_view line : SplitLines(value.text(), /*keeps_ends=*/false)) {
    out += is_first ? "" : between;
    is_first = false;
    bool is_first_part = true;
    for (const std::string& part : WrapLine(line, options)) {
      out += is_first_part ? "" : between;
      is_first_part = false;
      out += part;
      if (out.size() > interp.max_string_bytes()) {
        return ResourceExhausted("wrapped text is longer than {} bytes", interp.max_string_bytes());
      }
    }
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(out.size()));
  return interp.heap().Str(std::move(out));
}

Result<Value> PPrint(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("pprint", args));
  FT_ASSIGN_OR_RETURN(std::string text, PrettyFormat(interp, value));
  return interp.heap().Str(std::move(text));
}

}  // namespace

std::span<const NamedFilter> TextFilters() {
  static constexpr NamedFilter kFilters[] = {
      {"upper", UpperFilter}, {"lower", LowerFilter}, {"capitalize", CapitalizeFilter},
      {"trim", Trim},         {"center", Center},     {"title", TitleFilter},
      {"string", String},     {"replace", Replace},   {"format", Format},
      {"indent", Indent},     {"truncate", Truncate}, {"wordcount", WordCount},
      {"wordwrap", WordWrap}, {"pprint", PPrint}};
  return kFilters;
}

}  // namespace ft::jinja
