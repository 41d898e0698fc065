#include "core/text/jinja/pystring.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

bool IsLineEnd(char32_t c) {
  return c == '\n' || c == '\r' || c == 0x0B || c == 0x0C || (c >= 0x1C && c <= 0x1E) ||
         c == 0x85 || c == 0x2028 || c == 0x2029;
}

char32_t CharAt(std::string_view text, size_t* at) {
  return static_cast<char32_t>(DecodeUtf8(text, at));
}

// The character that ends at `end`; its start in *start.
char32_t CharBefore(std::string_view text, size_t end, size_t* start) {
  *start = end - 1;
  while (*start > 0 && (static_cast<uint8_t>(text[*start]) & 0xC0) == 0x80) {
    --*start;
  }
  size_t at = *start;
  return CharAt(text, &at);
}

template <typename IsStripped>
std::string_view Strip(std::string_view text, StripSides sides, const IsStripped& is_stripped) {
  while (sides != StripSides::kRight && !text.empty()) {
    size_t at = 0;
    if (!is_stripped(CharAt(text, &at))) {
      break;
    }
    text.remove_prefix(at);
  }
  while (sides != StripSides::kLeft && !text.empty()) {
    size_t start = 0;
    if (!is_stripped(CharBefore(text, text.size(), &start))) {
      break;
    }
    text = text.substr(0, start);
  }
  return text;
}

}  // namespace

std::string_view StripSpace(std::string_view text, StripSides sides) {
  return Strip(text, sides, [](char32_t c) { return IsSpace(c); });
}

std::string_view StripChars(std::string_view text, std::u32string_view chars, StripSides sides) {
  return Strip(text, sides,
               [chars](char32_t c) { return chars.find(c) != std::u32string_view::npos; });
}

std::vector<std::string_view> SplitSpace(std::string_view text,
                                         int64_t max_splits,
                                         bool from_right) {
  std::vector<std::string_view> parts;
  std::string_view rest = StripSpace(text, from_right ? StripSides::kRight : StripSides::kLeft);
  while (!rest.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(parts.size()) >= max_splits) {
      parts.push_back(rest);
      break;
    }
    if (from_right) {
      size_t start = rest.size();
      for (size_t at = rest.size(); at > 0;) {
        size_t before = 0;
        if (IsSpace(CharBefore(rest, at, &before))) {
          break;
        }
        start = at = before;
      }
      parts.push_back(rest.substr(start));
      rest = StripSpace(rest.substr(0, start), StripSides::kRight);
    } else {
      size_t end = 0;
      while (end < rest.size()) {
        size_t next = end;
        if (IsSpace(CharAt(rest, &next))) {
          break;
        }
        end = next;
      }
      parts.push_back(rest.substr(0, end));
      rest = StripSpace(rest.substr(end), StripSides::kLeft);
    }
  }
  if (from_right) {
    std::reverse(parts.begin(), parts.end());
  }
  return parts;
}

std::vector<std::string_view> SplitText(std::string_view text,
                                        std::string_view separator,
                                        int64_t max_splits,
                                        bool from_right) {
  std::vector<std::string_view> parts;
  if (!from_right) {
    size_t at = 0;
    while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
      const size_t found = FindText(text, separator, at);
      if (found == std::string_view::npos) {
        break;
      }
      parts.push_back(text.substr(at, found - at));
      at = found + separator.size();
    }
    parts.push_back(text.substr(at));
    return parts;
  }
  // From the right: mirrored text, so that every search is one pass.
  const std::string mirrored_text(text.rbegin(), text.rend());
  const std::string mirrored_separator(separator.rbegin(), separator.rend());
  size_t at = 0;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t found = FindText(mirrored_text, mirrored_separator, at);
    if (found == std::string_view::npos) {
      break;
    }
    parts.push_back(text.substr(text.size() - found, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(0, text.size() - at));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> SplitLines(std::string_view text, bool keeps_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t c = CharAt(text, &at);
    if (!IsLineEnd(c)) {
      continue;
    }
    if (c == '\r' && at < text.size() && text[at] == '\n') {
      ++at;
    }
    lines.push_back(text.substr(start, (keeps_ends ? at : end) - start));
    start = at;
  }
  if (start < text.size()) {
    lines.push_back(text.substr(start));
  }
  return lines;
}

Result<std::string> ReplaceText(Interp& interp,
                                std::string_view text,
                                std::string_view old_text,
                                std::string_view new_text,
                                int64_t count) {
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size()));
  std::string out;
  size_t at = 0;
  for (int64_t i = 0; count < 0 || i < count; ++i) {
    size_t found = old_text.empty() ? at : FindText(text, old_text, at);
    if (found == std::string_view::npos || (old_text.empty() && i > 0 && at >= text.size())) {
      break;
    }
    if (old_text.empty() && i > 0) {
      size_t next = at;
      static_cast<void>(CharAt(text, &next));
      found = next;
    }
    out += text.substr(at, found - at);
    out += new_text;
    at = found + old_text.size();
    if (out.size() > interp.max_string_bytes()) {
      return ResourceExhausted("replaced text is longer than {} bytes", interp.max_string_bytes());
    }
  }
  out += text.substr(at);
  FT_RETURN_IF_ERROR(interp.WorkBytes(out.size()));
  return out;
}

Result<std::string> ExpandTabs(Interp& interp, std::string_view text, int64_t tab_size) {
  std::string out;
  int64_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = CharAt(text, &at);
    if (c == '\t') {
      const int64_t count = tab_size > 0 ? tab_size - column % tab_size : 0;
      FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(count) + 64));
      if (out.size() + static_cast<size_t>(count) > interp.max_string_bytes()) {
        return ResourceExhausted("text with its tabs expanded is too long");
      }
      out.append(static_cast<size_t>(count), ' ');
      column += count;
    } else {
      out += text.substr(start, at - start);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return out;
}

bool IsLowerText(std::string_view text) {
  bool has_cased = false;
  for (const char32_t c : Decode(text)) {
    if (IsUpper(c) || IsTitle(c)) {
      return false;
    }
    has_cased |= IsLower(c);
  }
  return has_cased;
}

bool IsUpperText(std::string_view text) {
  bool has_cased = false;
  for (const char32_t c : Decode(text)) {
    if (IsLower(c) || IsTitle(c)) {
      return false;
    }
    has_cased |= IsUpper(c);
  }
  return has_cased;
}

bool IsTitleText(std::string_view text) {
  bool has_cased = false;
  bool is_after_cased = false;
  for (const char32_t c : Decode(text)) {
    if (IsUpper(c) || IsTitle(c)) {
      if (is_after_cased) {
        return false;
      }
      is_after_cased = has_cased = true;
    } else if (IsLower(c)) {
      if (!is_after_cased) {
        return false;
      }
      has_cased = true;
    } else {
      is_after_cased = false;
    }
  }
  return has_cased;
}

}  // namespace ft::jinja
