// Filters about HTML and URLs. No prompt needs them; templates may still use them.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/pystring.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"
#include "core/text/jinja/urlize.h"

namespace ft::jinja {
namespace {

Result<Value> EscapeFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("escape", args));
  return Escape(interp, value);
}

Result<Value> ForceEscape(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("forceescape", args));
  FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, value));
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() * 5));
  return interp.heap().Markup(EscapeText(text));
}

Result<Value> Safe(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("safe", args));
  FT_ASSIGN_OR_RETURN(std::string text, ToStr(interp, value));
  return interp.heap().Markup(std::move(text));
}

// Takes out everything from `open` to the next `close`, once and again.
std::string WithoutSpans(std::string_view text, std::string_view open, std::string_view close) {
  std::string out;
  for (;;) {
    const size_t start = FindText(text, open);
    const size_t end = start == std::string_view::npos ? start : FindText(text, close, start);
    if (end == std::string_view::npos) {
      return out.append(text);
    }
    out += text.substr(0, start);
    text.remove_prefix(end + close.size());
  }
}

Result<Value> StripTags(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("striptags", args));
  FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, value));
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() * 8));
  const std::string bare = WithoutSpans(WithoutSpans(text, "<!--", "-->"), "<", ">");
  std::string out;
  for (const std::string_view word : SplitSpace(bare, -1, /*from_right=*/false)) {
    out += out.empty() ? "" : " ";
    out += word;
  }
  return interp.heap().Str(UnescapeHtml(out));
}

std::string QuoteUrl(std::string_view text, bool for_query) {
  std::string out;
  for (const char c : text) {
    const bool is_alnum =
        (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z' && (c & 0x40) != 0);
    if (is_alnum || std::string_view("_.-~").find(c) != std::string_view::npos ||
        (c == '/' && !for_query)) {
      out += c;
    } else if (c == ' ' && for_query) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return out;
}

Result<Value> UrlEncode(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("urlencode", args));
  if (value.is_str() || !IsIterable(value)) {
    FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, value));
    FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() * 8));
    return interp.heap().Str(QuoteUrl(text, /*for_query=*/false));
  }
  Values pairs;
  if (value.is(ObjectKind::kDict)) {
    for (const DictData::Entry& entry : value.As<DictObject>()->data.entries()) {
      pairs.push_back(interp.heap().Tuple({entry.key, entry.value}));
    }
  } else {
    FT_ASSIGN_OR_RETURN(pairs, ToValues(interp, value));
  }
  std::string out;
  for (const Value& pair : pairs) {
    if (!IsIterable(pair)) {
      return InvalidArgument("cannot unpack non-iterable {} object", TypeName(pair));
    }
    FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, pair));
    if (items.size() != 2) {
      return InvalidArgument("urlencode needs pairs, got {} values", items.size());
    }
    FT_ASSIGN_OR_RETURN(const std::string key, ToStr(interp, items[0]));
    FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, items[1]));
    out += (out.empty() ? "" : "&") + QuoteUrl(key, /*for_query=*/true) + "=" +
           QuoteUrl(text, /*for_query=*/true);
    FT_RETURN_IF_ERROR(interp.WorkBytes(key.size() * 8 + text.size() * 8 + out.size()));
  }
  return interp.heap().Str(std::move(out));
}

Result<Value> XmlAttr(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("xmlattr", args, {"autospace"}, {}));
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  if (!value.is(ObjectKind::kDict)) {
    return InvalidArgument("'{}' object has no attribute 'items'", TypeName(value));
  }
  std::string out;
  for (const DictData::Entry& entry : value.As<DictObject>()->data.entries()) {
    if (entry.value.is_none() || entry.value.is_undefined()) {
      continue;
    }
    if (!entry.key.is_str()) {
      return InvalidArgument("expected string or bytes-like object");
    }
    if (entry.key.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return InvalidArgument("Invalid character in attribute name: {}", ReprText(entry.key.text()));
    }
    FT_ASSIGN_OR_RETURN(const Value key, Escape(interp, entry.key));
    FT_ASSIGN_OR_RETURN(const Value text, Escape(interp, entry.value));
    out += (out.empty() ? "" : " ") + key.text() + "=\"" + text.text() + "\"";
    FT_RETURN_IF_ERROR(interp.WorkBytes(out.size()));
  }
  if (bound.Flag(0, /*otherwise=*/true) && !out.empty()) {
    out.insert(0, " ");
  }
  return interp.heap().MakeStr(std::move(out), interp.autoescape());
}

Result<Value> UrlizeFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("urlize", args,
                      {"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"}, {}));
  UrlizeOptions options;
  if (bound.has(0) && !bound.at(0).is_none()) {
    FT_ASSIGN_OR_RETURN(options.trim_limit, bound.Int(0, 0));
  }
  std::vector<std::string> rel = {"noopener"};
  if (bound.Flag(1, /*otherwise=*/false)) {
    rel.emplace_back("nofollow");
  }
  if (bound.has(3) && bound.at(3).is_str()) {
    for (const std::string_view word : SplitSpace(bound.at(3).text(), -1, /*from_right=*/false)) {
      rel.emplace_back(word);
    }
  }
  std::sort(rel.begin(), rel.end());
  rel.erase(std::unique(rel.begin(), rel.end()), rel.end());
  options.rel = fmt::format("{}", fmt::join(rel, " "));
  if (bound.has(2) && bound.at(2).is_str()) {
    options.target = bound.at(2).text();
  }
  if (bound.has(4) && !bound.at(4).is_none()) {
    FT_ASSIGN_OR_RETURN(const Values schemes, ToValues(interp, bound.at(4)));
    for (const Value& scheme : schemes) {
      if (!scheme.is_str() || !IsUriScheme(scheme.text())) {
        return InvalidArgument("extra_schemes holds what is not a valid URI scheme prefix.");
      }
      options.extra_schemes.push_back(scheme.text());
    }
  }
  FT_ASSIGN_OR_RETURN(const Value escaped, Escape(interp, value));
  FT_RETURN_IF_ERROR(interp.WorkBytes(escaped.text().size() * 64));
  FT_ASSIGN_OR_RETURN(std::string out, Urlize(escaped.text(), options));
  return interp.heap().MakeStr(std::move(out), interp.autoescape());
}

}  // namespace

std::span<const NamedFilter> HtmlFilters() {
  static constexpr NamedFilter kFilters[] = {
      {"e", EscapeFilter},  {"escape", EscapeFilter}, {"forceescape", ForceEscape},
      {"safe", Safe},       {"striptags", StripTags}, {"urlencode", UrlEncode},
      {"xmlattr", XmlAttr}, {"urlize", UrlizeFilter}};
  return kFilters;
}

}  // namespace ft::jinja
