// Characters and case as Python 3.11's str sees them (Unicode 14; later additions count as
// unassigned). Not normalisation, not segmentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ft::jinja {

/// Code points of UTF-8 text; broken sequences become U+FFFD.
std::u32string Decode(std::string_view text);
std::string Encode(std::u32string_view chars);

bool IsSpace(char32_t c);    ///< str.isspace, and \s of regular expressions
bool IsAlpha(char32_t c);    ///< a letter
bool IsDecimal(char32_t c);  ///< usable in int()
bool IsDigit(char32_t c);    ///< also superscripts and circled digits
bool IsNumeric(char32_t c);  ///< also fractions and CJK numbers
bool IsAlnum(char32_t c);
bool IsWord(char32_t c);  ///< \w of regular expressions
bool IsUpper(char32_t c);
bool IsLower(char32_t c);
bool IsTitle(char32_t c);
bool IsPrintable(char32_t c);  ///< repr shows it as it is
bool IsIdentifierStart(char32_t c);
bool IsIdentifierPart(char32_t c);

/// 0..9, or -1 when not IsDecimal.
int DecimalValue(char32_t c);

/// The character of a Unicode name as in '\N{BULLET}'; 0 when there is none.
char32_t CharFromName(std::string_view name);

bool IsIdentifier(std::string_view text);

// str.upper and its kin, with the full mappings ('ß' → "SS", final sigma).
std::string Upper(std::string_view text);
std::string Lower(std::string_view text);
std::string Title(std::string_view text);
std::string Capitalize(std::string_view text);
std::string SwapCase(std::string_view text);
std::string CaseFold(std::string_view text);

}  // namespace ft::jinja
