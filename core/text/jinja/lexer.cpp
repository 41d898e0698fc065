#include "core/text/jinja/lexer.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

// CRLF and CR become LF; one newline at the end goes.
std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      i += i + 1 < source.size() && source[i + 1] == '\n' ? 1U : 0U;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') {
    out.pop_back();
  }
  return out;
}

// What opens at a place of the text.
enum class Opening {
  kNone,
  kVariable,
  kBlock,
  kComment,
  kRaw
};

// A rule's match: where it begins and ends.
struct Match {
  size_t start = 0;
  size_t end = 0;
  char sign = 0;  // '-', '+' or 0
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeNewlines(source)) {}

  Result<std::vector<Token>> Run() {
    while (at_ < source_.size()) {
      FT_RETURN_IF_ERROR(LexData());
    }
    Token end;
    end.line = line_;
    tokens_.push_back(std::move(end));
    return std::move(tokens_);
  }

 private:
  // Text up to the next opening, the opening, and what is inside.
  Status LexData() {
    Match match;
    const Opening opening = FindOpening(&match);
    if (opening == Opening::kNone) {
      AddData(source_.substr(at_));
      Advance(source_.size());
      return {};
    }
    AddStripped(match, opening != Opening::kVariable);
    const int line = line_ + static_cast<int>(CountNewlines(at_, match.start));
    Advance(match.end);
    switch (opening) {
      case Opening::kNone:
        return {};
      case Opening::kComment:
        return SkipComment();
      case Opening::kRaw:
        return LexRaw();
      case Opening::kVariable:
        Add(TokenKind::kVariableBegin, "", line);
        return LexInside(/*is_variable=*/true);
      case Opening::kBlock:
        Add(TokenKind::kBlockBegin, "", line);
        return LexInside(/*is_variable=*/false);
    }
    return {};
  }

  Opening FindOpening(Match* match) const {
    for (size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1)) {
      if (i + 1 >= source_.size()) {
        return Opening::kNone;
      }
      const char second = source_[i + 1];
      if (second != '{' && second != '%' && second != '#') {
        continue;
      }
      match->start = i;
      match->end = i + 2;
      match->sign = SignAt(match->end);
      match->end += match->sign != 0 ? 1U : 0U;
      if (second == '{') {
        return Opening::kVariable;
      }
      if (second == '#') {
        return Opening::kComment;
      }
      return MatchRawBegin(match) ? Opening::kRaw : Opening::kBlock;
    }
    return Opening::kNone;
  }

  char SignAt(size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  // `{% raw %}`, with the white space a "-%}" eats. No newline goes here.
  bool MatchRawBegin(Match* match) const {
    size_t at = SkipSpace(match->end);
    if (source_.compare(at, 3, "raw") != 0) {
      return false;
    }
    at = SkipSpace(at + 3);
    if (source_.compare(at, 3, "-%}") == 0) {
      match->end = SkipSpace(at + 3);
      return true;
    }
    if (source_.compare(at, 2, "%}") == 0) {
      match->end = at + 2;
      return true;
    }
    return false;
  }

  size_t SkipSpace(size_t at) const {
    while (at < source_.size()) {
      size_t next = at;
      if (!IsSpace(static_cast<char32_t>(DecodeUtf8(source_, &next)))) {
        break;
      }
      at = next;
    }
    return at;
  }

  // The text between at_ and the opening, less what its sign or lstrip_blocks takes.
  void AddStripped(const Match& match, bool may_lstrip) {
    std::string_view text = std::string_view(source_).substr(at_, match.start - at_);
    if (match.sign == '-') {
      text = TrimRight(text);
    } else if (match.sign != '+' && may_lstrip) {
      const size_t newline = text.rfind('\n');
      const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line_start > 0 || is_line_start_) && line_start < text.size() &&
          TrimRight(text.substr(line_start)).empty()) {
        text = text.substr(0, line_start);
      }
    }
    AddData(text);
  }

  // Moves on, counting lines.
  void Advance(size_t to) {
    line_ += static_cast<int>(CountNewlines(at_, to));
    if (to > at_) {
      is_line_start_ = source_[to - 1] == '\n';
    }
    at_ = to;
  }

  size_t CountNewlines(size_t from, size_t to) const {
    return static_cast<size_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(from),
                                          source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
  }

  // The end of a tag at `at` ("%}" and its kin with sign), or nothing. `close` is the closing mark.
  std::optional<size_t> MatchClose(size_t at, std::string_view close, bool is_variable) const {
    const std::string_view rest = std::string_view(source_).substr(at);
    if (!is_variable && rest.starts_with('+') && rest.substr(1).starts_with(close)) {
      return at + 1 + close.size();
    }
    if (rest.starts_with('-') && rest.substr(1).starts_with(close)) {
      return SkipSpace(at + 1 + close.size());
    }
    if (!rest.starts_with(close)) {
      return std::nullopt;
    }
    const size_t end = at + close.size();
    return !is_variable && end < source_.size() && source_[end] == '\n' ? end + 1 : end;
  }

  Status SkipComment() {
    for (size_t i = at_; i < source_.size(); ++i) {
      if (const auto end = MatchClose(i, "#}", /*is_variable=*/false)) {
        Advance(*end);
        return {};
      }
    }
    return Fail("Missing end of comment tag");
  }

  Status LexRaw() {
    for (size_t i = source_.find("{%", at_); i != std::string::npos;
         i = source_.find("{%", i + 1)) {
      Match match{i, i + 2, SignAt(i + 2)};
      size_t at = SkipSpace(match.end + (match.sign != 0 ? 1U : 0U));
      if (source_.compare(at, 6, "endraw") != 0) {
        continue;
      }
      at = SkipSpace(at + 6);
      if (const auto end = MatchClose(at, "%}", /*is_variable=*/false)) {
        AddStripped(match, /*may_lstrip=*/true);
        Advance(*end);
        return {};
      }
    }
    return Fail("Missing end of raw directive");
  }

  // Tokens up to the closing mark.
  Status LexInside(bool is_variable) {
    const std::string_view close = is_variable ? "}}" : "%}";
    std::string balance;
    while (at_ < source_.size()) {
      if (balance.empty()) {
        if (const auto end = MatchClose(at_, close, is_variable)) {
          Add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, "", line_);
          Advance(*end);
          return {};
        }
      }
      if (const size_t end = SkipSpace(at_); end > at_) {
        Advance(end);
        continue;
      }
      FT_RETURN_IF_ERROR(LexToken(&balance));
    }
    return {};  // the parser finds that the end is missing
  }

  Status LexToken(std::string* balance) {
    const char c = source_[at_];
    if (IsDecimal(CharAt(at_)) && LexNumber()) {
      return {};
    }
    size_t end = at_;
    while (end < source_.size()) {
      size_t next = end;
      const auto letter = static_cast<char32_t>(DecodeUtf8(source_, &next));
      if (!IsWord(letter) && !IsIdentifierPart(letter)) {
        break;
      }
      end = next;
    }
    if (end > at_) {
      const std::string name = source_.substr(at_, end - at_);
      if (!IsIdentifier(name)) {
        return Fail("Invalid character in identifier");
      }
      Add(TokenKind::kName, name, line_);
      Advance(end);
      return {};
    }
    if (c == '\'' || c == '"') {
      return LexString(c);
    }
    return LexOperator(balance);
  }

  char32_t CharAt(size_t at) const {
    return at < source_.size() ? static_cast<char32_t>(DecodeUtf8(source_, &at)) : 0;
  }

  bool IsDigitAt(size_t at) const { return IsDecimal(CharAt(at)); }

  // (\d+_)*\d+ from `at`; the end, or `at` when there is none.
  size_t DigitsEnd(size_t at) const {
    size_t end = at;
    while (end < source_.size()) {
      size_t next = end;
      const bool is_digit = IsDecimal(static_cast<char32_t>(DecodeUtf8(source_, &next)));
      if (!is_digit && !(source_[end] == '_' && end > at && IsDigitAt(end + 1))) {
        break;
      }
      end = next;
    }
    return end;
  }

  bool LexNumber() {
    const bool is_after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const size_t whole_end = DigitsEnd(at_);
    size_t end = whole_end;
    if (end < source_.size() && source_[end] == '.' && IsDigitAt(end + 1)) {
      end = DigitsEnd(end + 1);
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      size_t exponent = end + 1;
      exponent += SignAt(exponent) != 0 ? 1U : 0U;
      if (IsDigitAt(exponent)) {
        end = DigitsEnd(exponent);
      }
    }
    if (end > whole_end && !is_after_dot) {
      if (const auto number = ParseFloat(source_.substr(at_, end - at_))) {
        Add(TokenKind::kFloat, "", line_);
        tokens_.back().number = *number;
        Advance(end);
        return true;
      }
    }
    return LexInteger(whole_end);
  }

  bool LexInteger(size_t decimal_end) {
    size_t end = decimal_end;
    if (source_[at_] == '0') {
      end = PrefixedEnd();
      if (end == at_) {
        // 0(_?0)*: a number that goes on with other digits is two tokens, and so an error later.
        end = at_ + 1;
        while (end < source_.size() &&
               (source_[end] == '0' ||
                (source_[end] == '_' && end + 1 < source_.size() && source_[end + 1] == '0'))) {
          ++end;
        }
      }
    } else if (source_[at_] < '1' || source_[at_] > '9') {
      return false;
    }
    const auto number = ParseInt(source_.substr(at_, end - at_), 0);
    if (!number) {
      return false;
    }
    Add(TokenKind::kInteger, "", line_);
    tokens_.back().integer = *number;
    Advance(end);
    return true;
  }

  // The end of 0x1F, 0b1, 0o7; at_ when it is none.
  size_t PrefixedEnd() const {
    if (at_ + 1 >= source_.size()) {
      return at_;
    }
    const char mark = static_cast<char>(source_[at_ + 1] | 0x20);
    const std::string_view digits = mark == 'x'   ? "0123456789abcdefABCDEF"
                                    : mark == 'o' ? "01234567"
                                    : mark == 'b' ? "01"
                                                  : "";
    size_t end = at_ + 2;
    while (end < source_.size()) {
      const size_t digit = source_[end] == '_' ? end + 1 : end;
      if (digit >= source_.size() || digits.find(source_[digit]) == std::string_view::npos) {
        break;
      }
      end = digit + 1;
    }
    return end > at_ + 2 ? end : at_;
  }

  Status LexString(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) {
      end += source_[end] == '\\' ? 2U : 1U;
    }
    if (end >= source_.size()) {
      return Fail(std::string("unexpected char ") + ReprQuote(quote));
    }
    const Result<std::string> value =
        Unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
    if (!value.ok()) {
      return Fail(value.status().message());
    }
    Add(TokenKind::kString, *value, line_);
    Advance(end + 1);
    return {};
  }

  static std::string ReprQuote(char quote) { return quote == '"' ? "'\"'" : "\"'\""; }

  Status LexOperator(std::string* balance) {
    static constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
    const std::string_view rest = std::string_view(source_).substr(at_);
    std::string_view op;
    for (const std::string_view two : kTwo) {
      if (rest.starts_with(two)) {
        op = two;
      }
    }
    if (op.empty() &&
        std::string_view("+-/*%~[](){}><=.:|,;").find(rest[0]) != std::string_view::npos) {
      op = rest.substr(0, 1);
    }
    if (op.empty()) {
      size_t end = at_;
      static_cast<void>(DecodeUtf8(source_, &end));
      return Fail("unexpected char '" + source_.substr(at_, end - at_) + "'");
    }
    const char c = op[0];
    if (c == '{' || c == '(' || c == '[') {
      *balance += c == '{' ? '}' : (c == '(' ? ')' : ']');
    } else if (c == '}' || c == ')' || c == ']') {
      if (balance->empty() || balance->back() != c) {
        return Fail(balance->empty() ? std::string("unexpected '") + c + "'"
                                     : std::string("unexpected '") + c + "', expected '" +
                                           balance->back() + "'");
      }
      balance->pop_back();
    }
    Add(TokenKind::kOperator, std::string(op), line_);
    Advance(at_ + op.size());
    return {};
  }

  void Add(TokenKind kind, std::string text, int line) {
    Token token;
    token.kind = kind;
    token.line = line;
    token.text = std::move(text);
    tokens_.push_back(std::move(token));
  }

  void AddData(std::string_view text) {
    if (!text.empty()) {
      Add(TokenKind::kData, std::string(text), line_);
    }
  }

  Status Fail(std::string_view message) const {
    return InvalidArgument("line {}: {}", line_, message);
  }

  const std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool is_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source) {
  return Lexer(source).Run();
}

}  // namespace ft::jinja
