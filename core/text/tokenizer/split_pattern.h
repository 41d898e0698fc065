// Translates a split pattern of a tokenizer.json (Oniguruma, Ruby syntax, Unicode 16) into an
// 8-bit PCRE2 pattern over character *kinds*. Does not match: see split_regex.h.
//
// Characters that no class of the pattern tells apart are one kind; there are few. The text is
// mapped to one byte per character and PCRE2 sees only those bytes. So every class is exactly the
// one of unicode_table.cpp, set operations (`[a&&[^b]]`, which PCRE2 silently reads otherwise) are
// plain algebra, and each class is a bitmap for PCRE2's JIT.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/tokenizer/code_point_set.h"

namespace ft::text {

/// Code point -> kind, as a two-level table.
class KindTable {
 public:
  /// Code points that are in the same of `sets` get the same kind. Says in `set_kinds[i]` which
  /// kinds make up sets[i]. Errors: kUnimplemented: more than 256 kinds.
  static Result<KindTable> Build(const std::vector<CodePointSet>& sets,
                                 std::vector<std::vector<uint8_t>>* set_kinds);

  /// Replaces `*kinds` by the kind of each character of `text`. Requires valid UTF-8. Returns
  /// whether all of `text` is ASCII, so that characters are bytes.
  bool Map(std::string_view text, std::string* kinds) const;

 private:
  static constexpr uint32_t kPageSize = 256;

  uint8_t KindOf(uint32_t code_point) const {
    return pages_[page_of_[code_point / kPageSize] * kPageSize + code_point % kPageSize];
  }

  std::array<uint16_t, (kMaxCodePoint + 1) / kPageSize> page_of_ = {};
  std::vector<uint8_t> pages_;
};

struct TranslatedPattern {
  std::string pcre;  ///< for pcre2_compile without UTF, over kinds
  KindTable kinds;
};

/// Longest pattern that is read.
inline constexpr size_t kMaxPatternBytes = 16384;

/// Errors: kUnimplemented naming the piece of syntax that ft does not translate; kDataLoss: broken
/// syntax; kResourceExhausted: longer than kMaxPatternBytes or nested too deeply.
Result<TranslatedPattern> TranslatePattern(std::string_view pattern);

}  // namespace ft::text
