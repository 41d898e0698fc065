// UTF-8: reading one character at a time, writing one, and looking whether text is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ft {

inline constexpr uint32_t kReplacementCharacter = 0xFFFD;

/// Reads the code point at `*at` and moves `*at` behind it. A broken sequence gives U+FFFD and
/// moves over its maximal valid prefix (at least one byte), as the Unicode standard recommends
/// (§3.9, "substitution of maximal subparts") and Python's decode(errors="replace") does. Requires
/// *at < text.size().
uint32_t DecodeUtf8(std::string_view text, size_t* at);

/// As DecodeUtf8, and says in `*is_valid` whether the sequence was whole (a real U+FFFD is).
uint32_t DecodeUtf8(std::string_view text, size_t* at, bool* is_valid);

/// Appends `code_point` (no surrogate, at most U+10FFFF).
void AppendUtf8(uint32_t code_point, std::string* out);

/// No surrogates, no overlong forms, nothing cut.
bool IsValidUtf8(std::string_view text);

/// `text` with every broken sequence replaced by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

/// How many bytes at the end of `text` begin a character that more bytes could complete (0..3).
size_t IncompleteUtf8Suffix(std::string_view text);

}  // namespace ft
