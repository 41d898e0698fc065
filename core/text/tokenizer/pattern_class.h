// Characters and classes of split patterns (`a`, `\n`, `\p{L}`, `[^\s&&[a-z]]`) as sets.
// Used by the translator in split_pattern.cpp only.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/status.h"
#include "core/text/tokenizer/code_point_set.h"

namespace ft::text {

/// Where a reader stands in a pattern.
struct PatternCursor {
  std::string_view text;
  size_t at = 0;  ///< bytes

  bool AtEnd() const { return at >= text.size(); }

  char Peek() const { return text[at]; }

  void Skip() { ++at; }

  bool StartsWith(std::string_view token) const { return text.substr(at, token.size()) == token; }

  bool Take(std::string_view token) {
    if (!StartsWith(token)) {
      return false;
    }
    at += token.size();
    return true;
  }
};

/// Reads one character or escape outside brackets. `ignore_case`: with its other cases.
/// Errors: kUnimplemented, kDataLoss. Requires !cursor->AtEnd().
Result<CodePointSet> ParseCharacter(PatternCursor* cursor, bool ignore_case);

/// Reads a class in brackets. Requires a '[' at the cursor.
Result<CodePointSet> ParseClass(PatternCursor* cursor, bool ignore_case);

}  // namespace ft::text
