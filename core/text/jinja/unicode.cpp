#include "core/text/jinja/unicode.h"

#include <array>

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include "core/base/utf8.h"

namespace ft::jinja {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;
constexpr char32_t kCapitalIWithDot = 0x130;

UChar32 Icu(char32_t c) {
  return static_cast<UChar32>(c);
}

// ICU here knows Unicode 15; Python 3.11 knows 14.
bool IsAssigned(char32_t c) {
  UVersionInfo age = {};
  u_charAge(Icu(c), age);
  return age[0] > 0 && age[0] < 15;
}

bool Has(char32_t c, UProperty property) {
  return u_hasBinaryProperty(Icu(c), property) != 0 && IsAssigned(c);
}

bool IsAsciiLetter(char32_t c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

bool InMask(char32_t c, uint32_t mask) {
  return ((1U << static_cast<unsigned>(u_charType(Icu(c)))) & mask) != 0;
}

std::u32string FromUtf16(const UChar* text, int32_t size) {
  std::u32string chars;
  for (int32_t i = 0; i < size; ++i) {
    char32_t c = text[i];
    if (c >= 0xD800 && c <= 0xDBFF && i + 1 < size) {
      c = 0x10000 + ((c - 0xD800) << 10) + (text[++i] - 0xDC00U);
    }
    chars += c;
  }
  return chars;
}

enum class Mapping {
  kUpper,
  kTitle,
  kFold
};

// The full mapping of one character beyond ASCII.
std::u32string MapChar(char32_t c, Mapping mapping) {
  const bool is_pair = c > 0xFFFF;
  const std::array<UChar, 2> in = {static_cast<UChar>(is_pair ? U16_LEAD(Icu(c)) : Icu(c)),
                                   static_cast<UChar>(is_pair ? U16_TRAIL(Icu(c)) : 0)};
  const int32_t in_size = is_pair ? 2 : 1;
  std::array<UChar, 8> out = {};
  UErrorCode error = U_ZERO_ERROR;
  const auto capacity = static_cast<int32_t>(out.size());
  int32_t size = 0;
  switch (mapping) {
    case Mapping::kUpper:
      size = u_strToUpper(out.data(), capacity, in.data(), in_size, "", &error);
      break;
    case Mapping::kFold:
      size = u_strFoldCase(out.data(), capacity, in.data(), in_size, U_FOLD_CASE_DEFAULT, &error);
      break;
    case Mapping::kTitle: {
      UCaseMap* map =
          ucasemap_open("", U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT, &error);
      std::string utf8;
      AppendUtf8(c, &utf8);
      std::array<char, 32> titled = {};
      const int32_t num_bytes =
          ucasemap_utf8ToTitle(map, titled.data(), static_cast<int32_t>(titled.size()), utf8.data(),
                               static_cast<int32_t>(utf8.size()), &error);
      ucasemap_close(map);
      if (U_FAILURE(error) || num_bytes > static_cast<int32_t>(titled.size())) {
        return {c};
      }
      return Decode(std::string_view(titled.data(), static_cast<size_t>(num_bytes)));
    }
  }
  return U_FAILURE(error) ? std::u32string{c} : FromUtf16(out.data(), size);
}

void AppendUpper(char32_t c, std::u32string* out) {
  if (c < 0x80) {
    *out += c >= 'a' && c <= 'z' ? c - 0x20 : c;
  } else {
    *out += MapChar(c, Mapping::kUpper);
  }
}

// Unicode's Final_Sigma, as Python decides it.
bool IsFinalSigma(std::u32string_view chars, size_t at) {
  const auto is_ignorable = [&](size_t i) { return Has(chars[i], UCHAR_CASE_IGNORABLE); };
  size_t before = at;
  while (before > 0 && is_ignorable(before - 1)) {
    --before;
  }
  if (before == 0 || !Has(chars[before - 1], UCHAR_CASED)) {
    return false;
  }
  size_t after = at + 1;
  while (after < chars.size() && is_ignorable(after)) {
    ++after;
  }
  return after == chars.size() || !Has(chars[after], UCHAR_CASED);
}

void AppendLower(std::u32string_view chars, size_t at, std::u32string* out) {
  const char32_t c = chars[at];
  if (c < 0x80) {
    *out += c >= 'A' && c <= 'Z' ? c + 0x20 : c;
  } else if (c == kCapitalSigma) {
    *out += IsFinalSigma(chars, at) ? kFinalSigma : kSmallSigma;
  } else if (c == kCapitalIWithDot) {
    *out += U"i\u0307";
  } else {
    *out += IsAssigned(c) ? static_cast<char32_t>(u_tolower(Icu(c))) : c;
  }
}

void AppendTitle(char32_t c, std::u32string* out) {
  if (c < 0x80) {
    AppendUpper(c, out);
  } else {
    *out += MapChar(c, Mapping::kTitle);
  }
}

}  // namespace

std::u32string Decode(std::string_view text) {
  std::u32string chars;
  chars.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    chars += static_cast<char32_t>(DecodeUtf8(text, &at));
  }
  return chars;
}

std::string Encode(std::u32string_view chars) {
  std::string text;
  text.reserve(chars.size());
  for (const char32_t c : chars) {
    AppendUtf8(c, &text);
  }
  return text;
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsAlpha(char32_t c) {
  return c < 0x80 ? IsAsciiLetter(c) : InMask(c, U_GC_L_MASK) && IsAssigned(c);
}

bool IsDecimal(char32_t c) {
  return DecimalValue(c) >= 0;
}

bool IsDigit(char32_t c) {
  if (c < 0x80) {
    return c >= '0' && c <= '9';
  }
  const int type = u_getIntPropertyValue(Icu(c), UCHAR_NUMERIC_TYPE);
  return (type == U_NT_DECIMAL || type == U_NT_DIGIT) && IsAssigned(c);
}

bool IsNumeric(char32_t c) {
  if (c < 0x80) {
    return c >= '0' && c <= '9';
  }
  return u_getIntPropertyValue(Icu(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE && IsAssigned(c);
}

bool IsAlnum(char32_t c) {
  return IsAlpha(c) || IsNumeric(c);
}

bool IsWord(char32_t c) {
  return c == '_' || IsAlnum(c);
}

bool IsUpper(char32_t c) {
  return c < 0x80 ? c >= 'A' && c <= 'Z' : Has(c, UCHAR_UPPERCASE);
}

bool IsLower(char32_t c) {
  return c < 0x80 ? c >= 'a' && c <= 'z' : Has(c, UCHAR_LOWERCASE);
}

bool IsTitle(char32_t c) {
  return c >= 0x80 && InMask(c, U_GC_LT_MASK);
}

bool IsPrintable(char32_t c) {
  if (c < 0x80) {
    return c >= 0x20 && c < 0x7F;
  }
  return !InMask(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK | U_GC_CN_MASK |
                        U_GC_ZL_MASK | U_GC_ZP_MASK | U_GC_ZS_MASK) &&
         IsAssigned(c);
}

bool IsIdentifierStart(char32_t c) {
  return c == '_' || (c < 0x80 ? IsAsciiLetter(c) : Has(c, UCHAR_XID_START));
}

bool IsIdentifierPart(char32_t c) {
  return c < 0x80 ? c == '_' || IsAsciiLetter(c) || (c >= '0' && c <= '9')
                  : Has(c, UCHAR_XID_CONTINUE);
}

int DecimalValue(char32_t c) {
  if (c < 0x80) {
    return c >= '0' && c <= '9' ? static_cast<int>(c - '0') : -1;
  }
  return IsAssigned(c) ? u_charDigitValue(Icu(c)) : -1;
}

char32_t CharFromName(std::string_view name) {
  UErrorCode error = U_ZERO_ERROR;
  const std::string terminated(name);
  const UChar32 c = u_charFromName(U_UNICODE_CHAR_NAME, terminated.c_str(), &error);
  return U_FAILURE(error) || !IsAssigned(static_cast<char32_t>(c)) ? 0 : static_cast<char32_t>(c);
}

bool IsIdentifier(std::string_view text) {
  const std::u32string chars = Decode(text);
  if (chars.empty() || !IsIdentifierStart(chars[0])) {
    return false;
  }
  for (const char32_t c : chars) {
    if (!IsIdentifierPart(c)) {
      return false;
    }
  }
  return true;
}

std::string Upper(std::string_view text) {
  std::u32string out;
  for (const char32_t c : Decode(text)) {
    AppendUpper(c, &out);
  }
  return Encode(out);
}

std::string Lower(std::string_view text) {
  const std::u32string chars = Decode(text);
  std::u32string out;
  for (size_t i = 0; i < chars.size(); ++i) {
    AppendLower(chars, i, &out);
  }
  return Encode(out);
}

std::string Title(std::string_view text) {
  const std::u32string chars = Decode(text);
  std::u32string out;
  bool is_after_cased = false;
  for (size_t i = 0; i < chars.size(); ++i) {
    if (is_after_cased) {
      AppendLower(chars, i, &out);
    } else {
      AppendTitle(chars[i], &out);
    }
    is_after_cased = chars[i] < 0x80 ? IsAsciiLetter(chars[i]) : Has(chars[i], UCHAR_CASED);
  }
  return Encode(out);
}

std::string Capitalize(std::string_view text) {
  const std::u32string chars = Decode(text);
  std::u32string out;
  for (size_t i = 0; i < chars.size(); ++i) {
    if (i == 0) {
      AppendTitle(chars[i], &out);
    } else {
      AppendLower(chars, i, &out);
    }
  }
  return Encode(out);
}

std::string SwapCase(std::string_view text) {
  const std::u32string chars = Decode(text);
  std::u32string out;
  for (size_t i = 0; i < chars.size(); ++i) {
    if (IsUpper(chars[i])) {
      AppendLower(chars, i, &out);
    } else if (IsLower(chars[i])) {
      AppendUpper(chars[i], &out);
    } else {
      out += chars[i];
    }
  }
  return Encode(out);
}

std::string CaseFold(std::string_view text) {
  std::u32string out;
  for (const char32_t c : Decode(text)) {
    if (c < 0x80) {
      out += c >= 'A' && c <= 'Z' ? c + 0x20 : c;
    } else {
      out += MapChar(c, Mapping::kFold);
    }
  }
  return Encode(out);
}

}  // namespace ft::jinja
