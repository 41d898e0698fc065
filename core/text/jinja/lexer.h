// Template source to tokens, as jinja2's lexer cuts them with trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/jinja/bigint.h"

namespace ft::jinja {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;   ///< data, name, the string's value, or the operator
  BigInt integer;     ///< kInteger
  double number = 0;  ///< kFloat

  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }

  bool IsOp(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
};

/// All tokens of `source` (valid UTF-8), with kEnd last.
/// Errors: kInvalidArgument "line N: …".
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace ft::jinja
