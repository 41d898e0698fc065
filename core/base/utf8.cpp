#include "core/base/utf8.h"

#include <algorithm>

#include "core/base/check.h"

namespace ft {
namespace {

// What may follow a lead byte: how many bytes, and the range of the first of them.
struct Lead {
  int num_following = 0;  // -1: no lead byte
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) {
    return {0, 0x80, 0xBF};
  }
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {1, 0x80, 0xBF};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {2, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {3, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {-1, 0, 0};
}

// Length of the longest prefix of `text` (at `at`) that is the start of one character.
// `*is_whole`: it is all of that character.
size_t SequenceLength(std::string_view text, size_t at, bool* is_whole) {
  const Lead lead = LeadOf(static_cast<uint8_t>(text[at]));
  size_t length = 1;
  *is_whole = lead.num_following == 0;
  for (int i = 0; i < lead.num_following; ++i) {
    const uint8_t low = i == 0 ? lead.low : 0x80;
    const uint8_t high = i == 0 ? lead.high : 0xBF;
    if (at + length >= text.size()) {
      return length;
    }
    const auto byte = static_cast<uint8_t>(text[at + length]);
    if (byte < low || byte > high) {
      return length;
    }
    ++length;
  }
  *is_whole = lead.num_following >= 0;
  return length;
}

}  // namespace

uint32_t DecodeUtf8(std::string_view text, size_t* at, bool* is_valid) {
  FT_DCHECK(*at < text.size());
  const size_t start = *at;
  const size_t length = SequenceLength(text, start, is_valid);
  *at = start + length;
  if (!*is_valid) {
    return kReplacementCharacter;
  }
  const auto first = static_cast<uint8_t>(text[start]);
  if (length == 1) {
    return first;
  }
  uint32_t code_point = first & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6) | (static_cast<uint8_t>(text[start + i]) & 0x3FU);
  }
  return code_point;
}

uint32_t DecodeUtf8(std::string_view text, size_t* at) {
  bool is_valid = false;
  return DecodeUtf8(text, at, &is_valid);
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto put = [out](uint32_t byte) { *out += static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool IsValidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    bool is_valid = false;
    static_cast<void>(DecodeUtf8(text, &at, &is_valid));
    if (!is_valid) {
      return false;
    }
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    AppendUtf8(DecodeUtf8(text, &at), &out);
  }
  return out;
}

size_t IncompleteUtf8Suffix(std::string_view text) {
  const size_t first = text.size() - std::min<size_t>(text.size(), 3);
  for (size_t at = first; at < text.size(); ++at) {
    const Lead lead = LeadOf(static_cast<uint8_t>(text[at]));
    if (lead.num_following <= 0) {
      continue;
    }
    bool is_whole = false;
    const size_t length = SequenceLength(text, at, &is_whole);
    if (!is_whole && at + length == text.size()) {
      return length;
    }
  }
  return 0;
}

}  // namespace ft
