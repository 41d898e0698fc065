// Tokens to the tree: jinja2's grammar, with its loop controls and the generation block of
// Hugging Face. Names are not resolved here (resolver.h).
#pragma once

#include <string_view>

#include "core/base/status.h"
#include "core/text/jinja/ast.h"

namespace ft::jinja {

/// Deepest nest of expressions, and of statements.
inline constexpr int kMaxExprDepth = 200;
inline constexpr int kMaxStmtDepth = 90;

/// Errors: kInvalidArgument "line N: …"; kResourceExhausted: nested too deeply.
Result<Stmts> ParseTemplate(std::string_view source);

}  // namespace ft::jinja
