#include "core/text/jinja/text_util.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

// Where a code point that ends before `end` begins.
size_t CharStart(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) {
    --start;
  }
  return start;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Status AppendCodePoint(uint32_t code, std::string* out) {
  if (code > 0x10FFFF) {
    return InvalidArgument("illegal Unicode character");
  }
  if (code >= 0xD800 && code <= 0xDFFF) {
    return InvalidArgument("surrogates are no characters");
  }
  AppendUtf8(code, out);
  return {};
}

// `count` hex digits at *at.
Status UnescapeHex(std::string_view text, size_t count, size_t* at, std::string* out) {
  uint32_t code = 0;
  for (size_t i = 0; i < count; ++i) {
    const int digit = *at < text.size() ? HexValue(text[*at]) : -1;
    if (digit < 0) {
      return InvalidArgument("truncated escape in a string");
    }
    code = code * 16 + static_cast<uint32_t>(digit);
    ++*at;
  }
  return AppendCodePoint(code, out);
}

Status UnescapeOctal(std::string_view text, size_t* at, std::string* out) {
  uint32_t code = 0;
  for (int i = 0; i < 3 && *at < text.size() && text[*at] >= '0' && text[*at] <= '7'; ++i) {
    code = code * 8 + static_cast<uint32_t>(text[*at] - '0');
    ++*at;
  }
  return AppendCodePoint(code, out);
}

Status UnescapeName(std::string_view text, size_t* at, std::string* out) {
  const size_t close = text.find('}', *at);
  if (*at >= text.size() || text[*at] != '{' || close == std::string_view::npos) {
    return InvalidArgument("malformed \\N character escape");
  }
  const char32_t c = CharFromName(text.substr(*at + 1, close - *at - 1));
  if (c == 0) {
    return InvalidArgument("unknown Unicode character name");
  }
  *at = close + 1;
  return AppendCodePoint(c, out);
}

}  // namespace

size_t FindText(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) {
    return std::string_view::npos;
  }
  if (needle.empty()) {
    return from;
  }
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t FindLastText(std::string_view text, std::string_view needle) {
  if (needle.empty()) {
    return text.size();
  }
  // The failure function of Knuth, Morris and Pratt over the mirrored needle keeps this linear.
  const size_t n = needle.size();
  std::vector<size_t> border(n, 0);
  for (size_t i = 1, k = 0; i < n; ++i) {
    while (k > 0 && needle[n - 1 - i] != needle[n - 1 - k]) {
      k = border[k - 1];
    }
    k += needle[n - 1 - i] == needle[n - 1 - k] ? 1U : 0U;
    border[i] = k;
  }
  for (size_t i = text.size(), k = 0; i-- > 0;) {
    while (k > 0 && text[i] != needle[n - 1 - k]) {
      k = border[k - 1];
    }
    k += text[i] == needle[n - 1 - k] ? 1U : 0U;
    if (k == n) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string_view TrimRight(std::string_view text) {
  while (!text.empty()) {
    const size_t start = CharStart(text, text.size());
    size_t at = start;
    if (!IsSpace(static_cast<char32_t>(DecodeUtf8(text, &at)))) {
      break;
    }
    text = text.substr(0, start);
  }
  return text;
}

std::string_view TrimLeft(std::string_view text) {
  while (!text.empty()) {
    size_t at = 0;
    if (!IsSpace(static_cast<char32_t>(DecodeUtf8(text, &at)))) {
      break;
    }
    text.remove_prefix(at);
  }
  return text;
}

Result<std::string> Unescape(std::string_view literal) {
  static constexpr std::string_view kMarks = "abfnrtv\\'\"";
  static constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
  std::string out;
  for (size_t at = 0; at < literal.size();) {
    if (literal[at] != '\\') {
      out += literal[at++];
      continue;
    }
    if (at + 1 >= literal.size()) {
      return InvalidArgument("\\ at end of string");
    }
    const char mark = literal[at + 1];
    at += 2;
    if (const size_t i = kMarks.find(mark); i != std::string_view::npos) {
      out += kValues[i];
    } else if (mark == '\n') {
      continue;
    } else if (mark == 'x' || mark == 'u' || mark == 'U') {
      FT_RETURN_IF_ERROR(UnescapeHex(literal, mark == 'x' ? 2 : (mark == 'u' ? 4 : 8), &at, &out));
    } else if (mark >= '0' && mark <= '7') {
      --at;
      FT_RETURN_IF_ERROR(UnescapeOctal(literal, &at, &out));
    } else if (mark == 'N') {
      FT_RETURN_IF_ERROR(UnescapeName(literal, &at, &out));
    } else if (static_cast<uint8_t>(mark) < 0x80) {
      out += '\\';
      out += mark;
    } else {
      // jinja2 writes what is not ASCII as an escape first; the backslash in front undoes that.
      --at;
      const uint32_t code = DecodeUtf8(literal, &at);
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    }
  }
  return out;
}

}  // namespace ft::jinja
