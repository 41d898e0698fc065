// Methods of str (and of Markup, which keeps its mark).
#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/format.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/pystring.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

using Rules = BoundArgs::Rules;

Value Like(Interp& interp, const Value& self, std::string text) {
  return interp.heap().MakeStr(std::move(text), self.is_markup());
}

Result<std::string> TextArg(const BoundArgs& args, size_t index, std::string_view what) {
  const Value& value = args.at(index);
  if (!value.is_str()) {
    return InvalidArgument("{} must be str, not {}", what, TypeName(value));
  }
  return value.text();
}

// Case and the like: one function of the text, no arguments.
template <std::string (*kFunction)(std::string_view)>
Result<Value> Mapped(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("str method", args));
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size() * 16));
  return Like(interp, self, kFunction(self.text()));
}

// Questions about all characters; an empty string never has the property.
template <bool (*kPredicate)(char32_t)>
Result<Value> AllChars(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("str method", args));
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size() * 4));
  const std::u32string chars = Decode(self.text());
  return Value::Bool(!chars.empty() && std::all_of(chars.begin(), chars.end(), kPredicate));
}

Result<Value> IsAscii(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("isascii", args));
  return Value::Bool(self.str().is_ascii());
}

Result<Value> IsIdentifierMethod(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("isidentifier", args));
  return Value::Bool(IsIdentifier(self.text()));
}

Result<Value> IsPrintableMethod(Interp& interp, const Value& self, CallArgs& args) {
  if (self.text().empty()) {
    FT_RETURN_IF_ERROR(NoArgs("isprintable", args));
    return Value::Bool(/*flag=*/true);
  }
  return AllChars<IsPrintable>(interp, self, args);
}

Result<Value> IsLowerMethod(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("islower", args));
  return Value::Bool(IsLowerText(self.text()));
}

Result<Value> IsUpperMethod(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("isupper", args));
  return Value::Bool(IsUpperText(self.text()));
}

Result<Value> IsTitleMethod(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("istitle", args));
  return Value::Bool(IsTitleText(self.text()));
}

template <StripSides kSides>
Result<Value> StripMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("strip", args, {"chars"}, {.num_positional_only = 1}));
  const Value chars = bound.get(0, Value::None());
  if (!chars.is_none() && !chars.is_str()) {
    return InvalidArgument("strip arg must be None or str");
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size()));
  const std::string_view rest = chars.is_none()
                                    ? StripSpace(self.text(), kSides)
                                    : StripChars(self.text(), Decode(chars.text()), kSides);
  return Like(interp, self, std::string(rest));
}

template <bool kFromRight>
Result<Value> SplitMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("split", args, {"sep", "maxsplit"}, {}));
  const Value separator = bound.get(0, Value::None());
  FT_ASSIGN_OR_RETURN(const int64_t max_splits, bound.Int(1, -1));
  if (!separator.is_none() && !separator.is_str()) {
    return InvalidArgument("must be str or None, not {}", TypeName(separator));
  }
  if (separator.is_str() && separator.text().empty()) {
    return InvalidArgument("empty separator");
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size() * 8));
  std::vector<std::string_view> parts;
  if (separator.is_none()) {
    parts = SplitSpace(self.text(), max_splits, kFromRight);
  } else {
    parts = SplitText(self.text(), separator.text(), max_splits, kFromRight);
  }
  Values items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) {
    items.push_back(Like(interp, self, std::string(part)));
  }
  return interp.heap().List(std::move(items));
}

Result<Value> SplitLinesMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("splitlines", args, {"keepends"}, {}));
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size() * 8));
  Values items;
  for (const std::string_view line : SplitLines(self.text(), bound.Flag(0, /*otherwise=*/false))) {
    items.push_back(Like(interp, self, std::string(line)));
  }
  return interp.heap().List(std::move(items));
}

template <bool kFromRight>
Result<Value> PartitionMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("partition", args, {"sep"}, {.num_required = 1, .num_positional_only = 1}));
  FT_ASSIGN_OR_RETURN(const std::string separator, TextArg(bound, 0, "separator"));
  if (separator.empty()) {
    return InvalidArgument("empty separator");
  }
  const std::string& text = self.text();
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() * 2));
  const size_t at = kFromRight ? FindLastText(text, separator) : FindText(text, separator);
  std::string parts[3];
  if (at == std::string::npos) {
    parts[kFromRight ? 2 : 0] = text;
  } else {
    parts[0] = text.substr(0, at);
    parts[1] = separator;
    parts[2] = text.substr(at + separator.size());
  }
  return interp.heap().Tuple(
      {Like(interp, self, parts[0]), Like(interp, self, parts[1]), Like(interp, self, parts[2])});
}

Result<Value> ReplaceMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("replace", args, {"old", "new", "count"},
                                      {.num_required = 2, .num_positional_only = 3}));
  FT_ASSIGN_OR_RETURN(const std::string old_text, TextArg(bound, 0, "replace() argument 1"));
  FT_ASSIGN_OR_RETURN(std::string new_text, TextArg(bound, 1, "replace() argument 2"));
  FT_ASSIGN_OR_RETURN(const int64_t count, bound.Int(2, -1));
  if (self.is_markup() && !bound.at(1).is_markup()) {
    new_text = EscapeText(new_text);
  }
  FT_ASSIGN_OR_RETURN(std::string text,
                      ReplaceText(interp, self.text(), old_text, new_text, count));
  return Like(interp, self, std::move(text));
}

// The bytes of [start, end) given in characters; nothing when the range is behind the end.
struct Range {
  std::string_view text;
  int64_t start = 0;  // characters
  bool is_valid = false;
};

Result<Range> SearchRange(const Value& self, const BoundArgs& args) {
  const auto size = static_cast<int64_t>(self.str().num_chars);
  const auto place = [&](size_t index, int64_t otherwise) -> Result<int64_t> {
    if (!args.has(index) || args.at(index).is_none()) {
      return otherwise;
    }
    FT_ASSIGN_OR_RETURN(int64_t at, args.Int(index, 0));
    at = std::clamp<int64_t>(at, -size - 1, std::numeric_limits<int64_t>::max());
    return at < 0 ? std::max<int64_t>(0, at + size) : at;
  };
  FT_ASSIGN_OR_RETURN(const int64_t start, place(1, 0));
  FT_ASSIGN_OR_RETURN(const int64_t raw_end, place(2, size));
  const int64_t end = std::min(raw_end, size);
  Range range;
  range.is_valid = start <= end;
  range.start = start;
  if (range.is_valid) {
    range.text = Substring(self.str(), start, end);
  }
  return range;
}

Result<BoundArgs> BindSearch(std::string_view name, const CallArgs& args) {
  return BoundArgs::Bind(name, args, {"sub", "start", "end"},
                         {.num_required = 1, .num_positional_only = 3});
}

int64_t CountChars(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

template <bool kFromRight, bool kMustFind>
Result<Value> FindMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BindSearch("find", args));
  FT_ASSIGN_OR_RETURN(const std::string needle, TextArg(bound, 0, "find() argument"));
  FT_ASSIGN_OR_RETURN(const Range range, SearchRange(self, bound));
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size() * 2));
  size_t at = std::string::npos;
  if (range.is_valid) {
    at = kFromRight ? FindLastText(range.text, needle) : FindText(range.text, needle);
  }
  if (at == std::string::npos) {
    return kMustFind ? Result<Value>(InvalidArgument("substring not found"))
                     : Result<Value>(Value::Int(-1));
  }
  return Value::Int(range.start + CountChars(range.text.substr(0, at)));
}

Result<Value> CountMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BindSearch("count", args));
  FT_ASSIGN_OR_RETURN(const std::string needle, TextArg(bound, 0, "count() argument"));
  FT_ASSIGN_OR_RETURN(const Range range, SearchRange(self, bound));
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size()));
  if (!range.is_valid) {
    return Value::Int(0);
  }
  if (needle.empty()) {
    return Value::Int(CountChars(range.text) + 1);
  }
  int64_t count = 0;
  for (size_t at = FindText(range.text, needle); at != std::string::npos;
       at = FindText(range.text, needle, at + needle.size())) {
    ++count;
  }
  return Value::Int(count);
}

template <bool kAtEnd>
Result<Value> StartsMethod(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BindSearch(kAtEnd ? "endswith" : "startswith", args));
  FT_ASSIGN_OR_RETURN(const Range range, SearchRange(self, bound));
  Values wanted = {bound.at(0)};
  if (bound.at(0).is(ObjectKind::kTuple)) {
    wanted = bound.at(0).As<SequenceObject>()->items;
  }
  for (const Value& each : wanted) {
    if (!each.is_str()) {
      return InvalidArgument("{} first arg must be str or a tuple of str, not {}",
                             kAtEnd ? "endswith" : "startswith", TypeName(each));
    }
    if (range.is_valid &&
        (kAtEnd ? range.text.ends_with(each.text()) : range.text.starts_with(each.text()))) {
      return Value::Bool(/*flag=*/true);
    }
  }
  return Value::Bool(/*flag=*/false);
}

template <bool kAtEnd>
Result<Value> RemoveAffix(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("removeprefix", args, {"affix"},
                                      {.num_required = 1, .num_positional_only = 1}));
  FT_ASSIGN_OR_RETURN(const std::string affix, TextArg(bound, 0, "argument"));
  std::string_view text = self.text();
  if (kAtEnd && text.ends_with(affix)) {
    text.remove_suffix(affix.size());
  } else if (!kAtEnd && text.starts_with(affix)) {
    text.remove_prefix(affix.size());
  }
  return Like(interp, self, std::string(text));
}

Result<Value> JoinMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("join", args, {"iterable"}, {.num_required = 1, .num_positional_only = 1}));
  if (!IsIterable(bound.at(0))) {
    return InvalidArgument("can only join an iterable");
  }
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, bound.at(0)));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_str() && !self.is_markup()) {
      return InvalidArgument("sequence item {}: expected str instance, {} found", i,
                             TypeName(items[i]));
    }
    out += i == 0 ? "" : self.text();
    Value item = items[i];
    if (self.is_markup()) {
      FT_ASSIGN_OR_RETURN(item, Escape(interp, item));
    }
    out += item.text();
    FT_RETURN_IF_ERROR(interp.WorkBytes(item.text().size() + self.text().size()));
    if (out.size() > interp.max_string_bytes()) {
      return ResourceExhausted("joined text is longer than {} bytes", interp.max_string_bytes());
    }
  }
  return Like(interp, self, std::move(out));
}

enum class Justify {
  kLeft,
  kRight,
  kCenter
};

template <Justify kSide>
Result<Value> JustifyMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("center", args, {"width", "fillchar"},
                                      {.num_required = 1, .num_positional_only = 2}));
  FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0, 0));
  std::u32string fill = U" ";
  if (bound.has(1)) {
    FT_ASSIGN_OR_RETURN(const std::string text, TextArg(bound, 1, "The fill character"));
    fill = Decode(text);
  }
  if (fill.size() != 1) {
    return InvalidArgument("The fill character must be exactly one character long");
  }
  const int64_t missing = std::max<int64_t>(0, width - static_cast<int64_t>(self.str().num_chars));
  FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(missing) * 4));
  if (static_cast<size_t>(missing) > interp.max_string_bytes()) {
    return ResourceExhausted("text is padded to more than {} bytes", interp.max_string_bytes());
  }
  const int64_t left = kSide == Justify::kLeft    ? 0
                       : kSide == Justify::kRight ? missing
                                                  : missing / 2 + (missing & width & 1);
  const auto pad = [&fill](int64_t count) {
    return Encode(std::u32string(static_cast<size_t>(count), fill[0]));
  };
  return Like(interp, self, pad(left) + self.text() + pad(missing - left));
}

Result<Value> ZfillMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("zfill", args, {"width"}, {.num_required = 1, .num_positional_only = 1}));
  FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0, 0));
  const int64_t missing = std::max<int64_t>(0, width - static_cast<int64_t>(self.str().num_chars));
  FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(missing)));
  if (static_cast<size_t>(missing) > interp.max_string_bytes()) {
    return ResourceExhausted("text is padded to more than {} bytes", interp.max_string_bytes());
  }
  const std::string& text = self.text();
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return Like(
      interp, self,
      text.substr(0, sign) + std::string(static_cast<size_t>(missing), '0') + text.substr(sign));
}

Result<Value> ExpandTabsMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("expandtabs", args, {"tabsize"}, {}));
  FT_ASSIGN_OR_RETURN(const int64_t tab, bound.Int(0, 8));
  FT_ASSIGN_OR_RETURN(std::string text, ExpandTabs(interp, self.text(), tab));
  return Like(interp, self, std::move(text));
}

Result<Value> EncodeMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("encode", args, {"encoding", "errors"}, {}));
  std::string encoding = "utf-8";
  if (bound.has(0)) {
    FT_ASSIGN_OR_RETURN(encoding, TextArg(bound, 0, "encode() argument 'encoding'"));
    encoding = Lower(encoding);
  }
  if (encoding == "utf-8" || encoding == "utf8") {
    return interp.heap().Bytes(self.text());
  }
  const bool is_latin = encoding == "latin-1" || encoding == "latin1" || encoding == "iso-8859-1";
  if (!is_latin && encoding != "ascii") {
    return Unimplemented("the encoding '{}' is not supported in templates", encoding);
  }
  std::string bytes;
  for (const char32_t c : Decode(self.text())) {
    if (c >= (is_latin ? 0x100U : 0x80U)) {
      return InvalidArgument("'{}' codec can't encode a character of the text", encoding);
    }
    bytes += static_cast<char>(c);
  }
  return interp.heap().Bytes(std::move(bytes));
}

Result<Value> TranslateMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("translate", args, {"table"}, {.num_required = 1, .num_positional_only = 1}));
  FT_RETURN_IF_ERROR(interp.WorkBytes(self.text().size() * 8));
  std::string out;
  for (const char32_t c : Decode(self.text())) {
    FT_ASSIGN_OR_RETURN(const std::optional<Value> found,
                        Subscript(interp, bound.at(0), Value::Int(static_cast<int64_t>(c))));
    if (!found) {
      AppendUtf8(static_cast<uint32_t>(c), &out);
    } else if (found->is_str()) {
      out += found->text();
    } else if (found->is_small_int() && found->as_int() >= 0 && found->as_int() <= 0x10FFFF) {
      AppendUtf8(static_cast<uint32_t>(found->as_int()), &out);
    } else if (!found->is_none()) {
      return InvalidArgument("character mapping must return integer, None or str");
    }
    if (out.size() > interp.max_string_bytes()) {
      return ResourceExhausted("translated text is too long");
    }
  }
  return Like(interp, self, std::move(out));
}

Result<Value> MakeTransMethod(Interp& interp, const Value& /*self*/, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("maketrans", args, {"x", "y", "z"},
                                      {.num_required = 1, .num_positional_only = 3}));
  auto* table = interp.heap().New<DictObject>();
  const auto set = [&](const Value& key, const Value& value) -> Status {
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(key));
    table->data.Set(key, hash, value);
    return {};
  };
  if (!bound.has(1)) {
    if (!bound.at(0).is(ObjectKind::kDict)) {
      return InvalidArgument("if you give only one argument to maketrans it must be a dict");
    }
    for (const DictData::Entry& entry : bound.at(0).As<DictObject>()->data.entries()) {
      Value key = entry.key;
      if (key.is_str()) {
        const std::u32string chars = Decode(key.text());
        if (chars.size() != 1) {
          return InvalidArgument("string keys in translate table must be of length 1");
        }
        key = Value::Int(static_cast<int64_t>(chars[0]));
      }
      FT_RETURN_IF_ERROR(set(key, entry.value));
    }
    return Value::Obj(table);
  }
  FT_ASSIGN_OR_RETURN(const std::string from_text, TextArg(bound, 0, "maketrans() argument 1"));
  FT_ASSIGN_OR_RETURN(const std::string to_text, TextArg(bound, 1, "maketrans() argument 2"));
  const std::u32string from = Decode(from_text);
  const std::u32string to = Decode(to_text);
  if (from.size() != to.size()) {
    return InvalidArgument("the first two maketrans arguments must have equal length");
  }
  for (size_t i = 0; i < from.size(); ++i) {
    FT_RETURN_IF_ERROR(
        set(Value::Int(static_cast<int64_t>(from[i])), Value::Int(static_cast<int64_t>(to[i]))));
  }
  if (bound.has(2)) {
    FT_ASSIGN_OR_RETURN(const std::string gone, TextArg(bound, 2, "maketrans() argument 3"));
    for (const char32_t c : Decode(gone)) {
      FT_RETURN_IF_ERROR(set(Value::Int(static_cast<int64_t>(c)), Value::None()));
    }
  }
  return Value::Obj(table);
}

Result<Value> FormatMethod(Interp& interp, const Value& self, CallArgs& args) {
  return BraceFormat(interp, self, args);
}

Result<Value> FormatMapMethod(Interp& interp, const Value& self, CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) {
    return InvalidArgument("format_map() takes exactly one argument ({} given)",
                           args.positional.size());
  }
  CallArgs fields;
  if (args.positional[0].is(ObjectKind::kDict)) {
    for (const DictData::Entry& entry : args.positional[0].As<DictObject>()->data.entries()) {
      if (entry.key.is_str()) {
        fields.keywords.emplace_back(entry.key.text(), entry.value);
      }
    }
  }
  return BraceFormat(interp, self, fields);
}

}  // namespace

FilterFunction FindStringMethod(std::string_view name) {
  static constexpr NamedFilter kMethods[] = {
      {"capitalize", Mapped<Capitalize>},
      {"casefold", Mapped<CaseFold>},
      {"center", JustifyMethod<Justify::kCenter>},
      {"count", CountMethod},
      {"encode", EncodeMethod},
      {"endswith", StartsMethod<true>},
      {"expandtabs", ExpandTabsMethod},
      {"find", FindMethod<false, false>},
      {"format", FormatMethod},
      {"format_map", FormatMapMethod},
      {"index", FindMethod<false, true>},
      {"isalnum", AllChars<IsAlnum>},
      {"isalpha", AllChars<IsAlpha>},
      {"isascii", IsAscii},
      {"isdecimal", AllChars<IsDecimal>},
      {"isdigit", AllChars<IsDigit>},
      {"isidentifier", IsIdentifierMethod},
      {"islower", IsLowerMethod},
      {"isnumeric", AllChars<IsNumeric>},
      {"isprintable", IsPrintableMethod},
      {"isspace", AllChars<IsSpace>},
      {"istitle", IsTitleMethod},
      {"isupper", IsUpperMethod},
      {"join", JoinMethod},
      {"ljust", JustifyMethod<Justify::kLeft>},
      {"lower", Mapped<Lower>},
      {"lstrip", StripMethod<StripSides::kLeft>},
      {"maketrans", MakeTransMethod},
      {"partition", PartitionMethod<false>},
      {"removeprefix", RemoveAffix<false>},
      {"removesuffix", RemoveAffix<true>},
      {"replace", ReplaceMethod},
      {"rfind", FindMethod<true, false>},
      {"rindex", FindMethod<true, true>},
      {"rjust", JustifyMethod<Justify::kRight>},
      {"rpartition", PartitionMethod<true>},
      {"rsplit", SplitMethod<true>},
      {"rstrip", StripMethod<StripSides::kRight>},
      {"split", SplitMethod<false>},
      {"splitlines", SplitLinesMethod},
      {"startswith", StartsMethod<false>},
      {"strip", StripMethod<StripSides::kBoth>},
      {"swapcase", Mapped<SwapCase>},
      {"title", Mapped<Title>},
      {"translate", TranslateMethod},
      {"upper", Mapped<Upper>},
      {"zfill", ZfillMethod},
  };
  for (const NamedFilter& method : kMethods) {
    if (method.name == name) {
      return method.function;
    }
  }
  return nullptr;
}

}  // namespace ft::jinja
