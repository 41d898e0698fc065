// Escapes and bracket classes of split patterns, read as Oniguruma's Ruby syntax reads them.
#include "core/text/tokenizer/pattern_class.h"

#include <optional>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"

namespace ft::text {
namespace {

constexpr int kMaxClassDepth = 16;

CodePointSet One(uint32_t code_point) {
  return CodePointSet({{code_point, code_point}});
}

bool IsAsciiLetter(uint32_t c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

// What was read: a single character (then `code_point` is set) or a class.
struct Item {
  std::optional<uint32_t> code_point;
  CodePointSet set;
};

// The characters `first`..`last` and, where case is ignored, their other cases.
Result<CodePointSet> WithCases(uint32_t first, uint32_t last, bool ignore_case) {
  CodePointSet set({{first, last}});
  if (!ignore_case) {
    return set;
  }
  if (last >= 0x80) {
    return Unimplemented("(?i: with characters beyond ASCII");
  }
  for (uint32_t c = first; c <= last; ++c) {
    if (IsAsciiLetter(c)) {
      set = set.Union(One(c ^ 0x20));
    }
    if ((c | 0x20) == 's') {
      set = set.Union(One(0x17F));  // long s
    } else if ((c | 0x20) == 'k') {
      set = set.Union(One(0x212A));  // Kelvin sign
    }
  }
  return set;
}

// `{name}` or `{^name}` behind \p or \P.
Result<CodePointSet> ParseProperty(PatternCursor* cursor, bool is_negated) {
  const size_t close = cursor->text.find('}', cursor->at);
  if (!cursor->Take("{") || close == std::string_view::npos) {
    return Unimplemented("\\p without {{…}} at character {}", cursor->at);
  }
  if (cursor->Take("^")) {
    is_negated = !is_negated;
  }
  const std::string_view name = cursor->text.substr(cursor->at, close - cursor->at);
  std::optional<CodePointSet> set;
  if (!name.empty() && name[0] >= 'A' && name[0] <= 'Z') {
    set = CodePointSet::Named(name);
  }
  if (!set) {
    return Unimplemented("the class \\p{{{}}}", name);
  }
  cursor->at = close + 1;
  return is_negated ? set->Complement() : *std::move(set);
}

// Up to `max_digits` hexadecimal digits.
Result<uint32_t> ParseHex(PatternCursor* cursor, int max_digits) {
  uint32_t value = 0;
  int num_digits = 0;
  for (; num_digits < max_digits && !cursor->AtEnd(); ++num_digits) {
    const char c = cursor->Peek();
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<uint32_t>(lower - 'a' + 10);
    } else {
      break;
    }
    cursor->Skip();
  }
  if (num_digits == 0 || value > kMaxCodePoint) {
    return DataLoss("a broken number of a character at character {}", cursor->at);
  }
  return value;
}

// \x41, \x{1F600}, \u00e9 behind the backslash.
Result<uint32_t> ParseNumbered(PatternCursor* cursor) {
  if (cursor->Take("u")) {
    const size_t start = cursor->at;
    FT_ASSIGN_OR_RETURN(const uint32_t value, ParseHex(cursor, 4));
    if (cursor->at != start + 4) {
      return DataLoss("\\u wants four digits at character {}", start);
    }
    return value;
  }
  cursor->Skip();
  if (!cursor->Take("{")) {
    FT_ASSIGN_OR_RETURN(const uint32_t value, ParseHex(cursor, 2));
    if (value >= 0x80) {
      return Unimplemented("\\x{:02x}, a byte; write \\u00{:02x}", value, value);
    }
    return value;
  }
  FT_ASSIGN_OR_RETURN(const uint32_t value, ParseHex(cursor, 8));
  if (!cursor->Take("}")) {
    return DataLoss("\\x{{ is not closed at character {}", cursor->at);
  }
  return value;
}

// Where a character is read: the library's engine has another `\w` in brackets.
enum class Place {
  kOutside,
  kInBrackets
};

std::optional<CodePointSet> ShorthandClass(char letter, Place place) {
  switch (letter) {
    case 's':
      return CodePointSet::Named("space");
    case 'w':
      return CodePointSet::Named(place == Place::kInBrackets ? "split_class_word" : "split_word");
    case 'd':
      return CodePointSet::Named("Nd");
    case 'h':
      return CodePointSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
    default:
      return std::nullopt;
  }
}

std::optional<uint32_t> ControlCharacter(char letter) {
  static constexpr std::string_view kLetters = "trnfvae";
  static constexpr std::string_view kMeanings = "\t\r\n\f\v\a\x1b";
  const size_t at = kLetters.find(letter);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(kMeanings[at]);
}

Result<Item> ParseEscape(PatternCursor* cursor, bool ignore_case, Place place) {
  cursor->Skip();
  if (cursor->AtEnd()) {
    return DataLoss("a backslash at the end");
  }
  const char letter = cursor->Peek();
  if (letter == 'p' || letter == 'P') {
    if (ignore_case) {
      return Unimplemented("(?i: with \\{}", letter);
    }
    cursor->Skip();
    FT_ASSIGN_OR_RETURN(CodePointSet set, ParseProperty(cursor, letter == 'P'));
    return Item{std::nullopt, std::move(set)};
  }
  if (letter == 'x' || letter == 'u') {
    FT_ASSIGN_OR_RETURN(const uint32_t code_point, ParseNumbered(cursor));
    return Item{code_point, {}};
  }
  if (const auto control = ControlCharacter(letter)) {
    cursor->Skip();
    return Item{control, {}};
  }
  if (const auto set = ShorthandClass(static_cast<char>(letter | 0x20), place);
      set && IsAsciiLetter(static_cast<uint8_t>(letter))) {
    cursor->Skip();
    const bool is_negated = (letter & 0x20) == 0;
    return Item{std::nullopt, is_negated ? set->Complement() : *set};
  }
  const auto byte = static_cast<uint8_t>(letter);
  if (byte >= 0x80 || IsAsciiLetter(byte) || (letter >= '0' && letter <= '9')) {
    return Unimplemented("the escape \\{} at character {}", letter, cursor->at);
  }
  cursor->Skip();
  return Item{byte, {}};
}

Result<Item> ParseItem(PatternCursor* cursor, bool ignore_case, Place place) {
  if (cursor->Peek() == '\\') {
    return ParseEscape(cursor, ignore_case, place);
  }
  return Item{DecodeUtf8(cursor->text, &cursor->at), {}};
}

Result<CodePointSet> ParseClassAt(PatternCursor* cursor, bool ignore_case, int depth);

// One member of a class: nested class, class escape, character or range.
Result<CodePointSet> ParseMember(PatternCursor* cursor, bool ignore_case, int depth) {
  if (cursor->StartsWith("[:")) {
    return Unimplemented("POSIX classes such as [:alpha:]");
  }
  if (cursor->Peek() == '[') {
    return ParseClassAt(cursor, ignore_case, depth + 1);
  }
  FT_ASSIGN_OR_RETURN(const Item item, ParseItem(cursor, ignore_case, Place::kInBrackets));
  if (!item.code_point) {
    return item.set;
  }
  const bool is_range = cursor->StartsWith("-") && !cursor->StartsWith("-]") &&
                        !cursor->StartsWith("-&&") && !cursor->StartsWith("-[");
  if (!is_range) {
    return WithCases(*item.code_point, *item.code_point, ignore_case);
  }
  cursor->Skip();
  if (cursor->AtEnd()) {
    return DataLoss("'[' is not closed");
  }
  FT_ASSIGN_OR_RETURN(const Item last, ParseItem(cursor, ignore_case, Place::kInBrackets));
  if (!last.code_point || *last.code_point < *item.code_point) {
    return DataLoss("a broken range before character {}", cursor->at);
  }
  return WithCases(*item.code_point, *last.code_point, ignore_case);
}

Result<CodePointSet> ParseClassAt(PatternCursor* cursor, bool ignore_case, int depth) {
  if (depth > kMaxClassDepth) {
    return ResourceExhausted("classes nested more than {} deep", kMaxClassDepth);
  }
  const size_t start = cursor->at;
  cursor->Skip();
  const bool is_negated = cursor->Take("^");
  CodePointSet all = CodePointSet::All();
  CodePointSet members;
  for (bool is_first = true;; is_first = false) {
    if (cursor->AtEnd()) {
      return DataLoss("'[' at character {} is not closed", start);
    }
    if (cursor->Take("&&")) {
      all = all.Intersect(members);
      members = CodePointSet();
    } else if (!is_first && cursor->Take("]")) {
      break;
    } else {
      FT_ASSIGN_OR_RETURN(const CodePointSet member, ParseMember(cursor, ignore_case, depth));
      members = members.Union(member);
    }
  }
  all = all.Intersect(members);
  return is_negated ? all.Complement() : all;
}

}  // namespace

Result<CodePointSet> ParseCharacter(PatternCursor* cursor, bool ignore_case) {
  FT_ASSIGN_OR_RETURN(Item item, ParseItem(cursor, ignore_case, Place::kOutside));
  if (item.code_point) {
    return WithCases(*item.code_point, *item.code_point, ignore_case);
  }
  return std::move(item.set);
}

Result<CodePointSet> ParseClass(PatternCursor* cursor, bool ignore_case) {
  return ParseClassAt(cursor, ignore_case, 0);
}

}  // namespace ft::text
