// The translator of split patterns: recursive descent over Ruby syntax, writing PCRE2 syntax with
// numbers of sets where characters stand. Syntax that no published tokenizer uses is refused.
#include "core/text/tokenizer/split_pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/tokenizer/pattern_class.h"

namespace ft::text {
namespace {

constexpr int kMaxDepth = 32;
constexpr int kMaxRepeat = 1000;
constexpr size_t kMaxSets = 256;  // of different classes; published patterns have about 20

// Output: text as it is, or (set >= 0) a set to be written as a class of kinds.
struct Part {
  std::string text;
  int set = -1;
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : cursor_{pattern} {}

  Result<TranslatedPattern> Run() {
    bool ignore_case = cursor_.Take("(?i)");
    FT_RETURN_IF_ERROR(Alternatives(ignore_case, 0));
    if (!cursor_.AtEnd()) {
      return DataLoss("unmatched ')' at character {}", cursor_.at);
    }
    return Render();
  }

 private:
  void Emit(std::string_view text) { parts_.push_back({std::string(text), -1}); }

  void EmitSet(const CodePointSet& set) {
    const auto known = std::find(sets_.begin(), sets_.end(), set);
    parts_.push_back({"", static_cast<int>(known - sets_.begin())});
    if (known == sets_.end()) {
      sets_.push_back(set);
    }
  }

  Status Alternatives(bool ignore_case, int depth) {
    if (depth > kMaxDepth) {
      return ResourceExhausted("groups nested more than {} deep", kMaxDepth);
    }
    while (true) {
      FT_RETURN_IF_ERROR(Sequence(ignore_case, depth));
      if (!cursor_.Take("|")) {
        return Status();
      }
      Emit("|");
    }
  }

  Status Sequence(bool ignore_case, int depth) {
    char previous_letter = 0;
    while (!cursor_.AtEnd() && cursor_.Peek() != '|' && cursor_.Peek() != ')') {
      const size_t first_part = parts_.size();
      const char lower = static_cast<char>(cursor_.Peek() | 0x20);
      const bool is_letter = ignore_case && lower >= 'a' && lower <= 'z';
      if (is_letter && IsOneCharacterFolded(previous_letter, lower)) {
        return Unimplemented("(?i: with \"{}{}\", which also stands for one character",
                             previous_letter, lower);
      }
      previous_letter = is_letter ? lower : '\0';
      FT_ASSIGN_OR_RETURN(const bool can_repeat, Atom(ignore_case, depth));
      FT_RETURN_IF_ERROR(Quantifier(first_part, can_repeat));
    }
    return Status();
  }

  // "ss" without case is also "ß" for the library's engine; likewise the ligatures.
  static bool IsOneCharacterFolded(char a, char b) {
    return (a == 's' && (b == 's' || b == 't')) || (a == 'f' && (b == 'f' || b == 'i' || b == 'l'));
  }

  // One thing that can be repeated; returns false for those that cannot (anchors, look-arounds).
  Result<bool> Atom(bool ignore_case, int depth) {
    const char c = cursor_.Peek();
    switch (c) {
      case '(':
        return Group(ignore_case, depth);
      case '[': {
        FT_ASSIGN_OR_RETURN(const CodePointSet set, ParseClass(&cursor_, ignore_case));
        EmitSet(set);
        return true;
      }
      case '.':
        cursor_.Skip();
        EmitSet(CodePointSet({{'\n', '\n'}}).Complement());
        return true;
      case '^':  // at every line's begin, but not behind a last newline
        cursor_.Skip();
        Emit("(?:\\A|(?<=");
        EmitSet(CodePointSet({{'\n', '\n'}}));
        Emit(")(?!\\z))");
        return false;
      case '$':  // before every newline
        cursor_.Skip();
        Emit("(?:\\z|(?=");
        EmitSet(CodePointSet({{'\n', '\n'}}));
        Emit("))");
        return false;
      case '*':
      case '+':
      case '?':
      case '{':
        return DataLoss("'{}' at character {} has nothing to repeat", c, cursor_.at);
      default:
        break;
    }
    if (cursor_.Take("\\A") || cursor_.Take("\\z")) {
      Emit(cursor_.text.substr(cursor_.at - 2, 2));
      return false;
    }
    FT_ASSIGN_OR_RETURN(const CodePointSet set, ParseCharacter(&cursor_, ignore_case));
    EmitSet(set);
    return true;
  }

  Result<bool> Group(bool ignore_case, int depth) {
    const size_t start = cursor_.at;
    bool can_repeat = true;
    if (cursor_.Take("(?:")) {
      Emit("(?:");
    } else if (cursor_.Take("(?i:")) {
      ignore_case = true;
      Emit("(?:");
    } else if (cursor_.Take("(?-i:")) {
      ignore_case = false;
      Emit("(?:");
    } else if (cursor_.Take("(?>")) {
      Emit("(?>");
    } else if (cursor_.Take("(?=") || cursor_.Take("(?!") || cursor_.Take("(?<=") ||
               cursor_.Take("(?<!")) {
      Emit(cursor_.text.substr(start, cursor_.at - start));
      can_repeat = false;
    } else if (cursor_.StartsWith("(?") || cursor_.StartsWith("(*")) {
      return Unimplemented("group \"{}\"", cursor_.text.substr(start, 4));
    } else {
      cursor_.Skip();
      Emit("(?:");
    }
    FT_RETURN_IF_ERROR(Alternatives(ignore_case, depth + 1));
    if (!cursor_.Take(")")) {
      return DataLoss("'(' at character {} is not closed", start);
    }
    Emit(")");
    return can_repeat;
  }

  // Number of up to four digits, or nothing.
  std::optional<int> TakeNumber() {
    std::optional<int> number;
    while (!cursor_.AtEnd() && cursor_.Peek() >= '0' && cursor_.Peek() <= '9' &&
           number.value_or(0) <= kMaxRepeat) {
      number = number.value_or(0) * 10 + (cursor_.Peek() - '0');
      cursor_.Skip();
    }
    return number;
  }

  // `{n}`, `{n,}`, `{n,m}` as PCRE2 text; empty if none begins here.
  Result<std::string> Interval() {
    const size_t start = cursor_.at;
    if (!cursor_.Take("{")) {
      return std::string();
    }
    const std::optional<int> low = TakeNumber();
    const bool has_comma = cursor_.Take(",");
    const std::optional<int> high = has_comma ? TakeNumber() : low;
    if (!low || !cursor_.Take("}")) {
      return Unimplemented("repeat at character {}: only {{n}}, {{n,}} and {{n,m}}", start);
    }
    if (*low > kMaxRepeat || high.value_or(0) > kMaxRepeat || (high && *high < *low)) {
      return Unimplemented("repeat at character {}: numbers must ascend, to at most {}", start,
                           kMaxRepeat);
    }
    if (!has_comma && !cursor_.AtEnd() && cursor_.Peek() == '?') {
      return Unimplemented("{{n}}? at character {}", start);
    }
    return std::string(cursor_.text.substr(start, cursor_.at - start));
  }

  Status Quantifier(size_t first_part, bool can_repeat) {
    FT_ASSIGN_OR_RETURN(std::string repeat, Interval());
    const bool is_interval = !repeat.empty();
    if (!is_interval) {
      if (cursor_.AtEnd() ||
          std::string_view("*+?").find(cursor_.Peek()) == std::string_view::npos) {
        return Status();
      }
      repeat = cursor_.Peek();
      cursor_.Skip();
    }
    if (!can_repeat) {
      return Unimplemented("a repeated anchor or look-around at character {}", cursor_.at);
    }
    if (cursor_.Take("?")) {
      repeat += '?';
    } else if (cursor_.Take("+")) {
      if (is_interval) {  // Ruby repeats the repeat; PCRE2 would take `{1,3}+` as possessive
        parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(first_part), {"(?:", -1});
        repeat += ')';
      }
      repeat += '+';
    }
    Emit(repeat);
    if (!cursor_.AtEnd() &&
        std::string_view("*+?{").find(cursor_.Peek()) != std::string_view::npos) {
      return Unimplemented("a repeat of a repeat at character {}", cursor_.at);
    }
    return Status();
  }

  Result<TranslatedPattern> Render() const {
    if (sets_.size() > kMaxSets) {
      return Unimplemented("a pattern with more than {} different classes", kMaxSets);
    }
    std::vector<std::vector<uint8_t>> set_kinds;
    FT_ASSIGN_OR_RETURN(KindTable table, KindTable::Build(sets_, &set_kinds));
    TranslatedPattern translated{"", std::move(table)};
    for (const Part& part : parts_) {
      if (part.set < 0) {
        translated.pcre += part.text;
        continue;
      }
      const std::vector<uint8_t>& kinds = set_kinds[static_cast<size_t>(part.set)];
      if (kinds.empty()) {
        translated.pcre += "(?!)";
        continue;
      }
      translated.pcre += '[';
      for (const uint8_t kind : kinds) {
        translated.pcre += fmt::format("\\x{:02x}", kind);
      }
      translated.pcre += ']';
    }
    return translated;
  }

  PatternCursor cursor_;
  std::vector<Part> parts_;
  std::vector<CodePointSet> sets_;
};

}  // namespace

Result<TranslatedPattern> TranslatePattern(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return ResourceExhausted("a pattern of {} bytes, more than {}", pattern.size(),
                             kMaxPatternBytes);
  }
  if (!IsValidUtf8(pattern)) {
    return DataLoss("a pattern that is not UTF-8");
  }
  return Translator(pattern).Run();
}

}  // namespace ft::text
