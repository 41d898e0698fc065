// Sets of Unicode code points as sorted ranges: the algebra behind character classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ft::text {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

/// Inclusive.
struct CodePointRange {
  uint32_t first = 0;
  uint32_t last = 0;
  friend bool operator==(const CodePointRange&, const CodePointRange&) = default;
};

/// A set of code points 0..kMaxCodePoint. Ranges ascend and never touch.
class CodePointSet {
 public:
  CodePointSet() = default;

  explicit CodePointSet(std::vector<CodePointRange> ranges);  ///< in any order

  /// A general category ("L", "Lu", …), a script of the table, "space", "split_word" and
  /// "split_class_word" (`\w` and `[\w]` in split patterns), or "token_word" (what forbids a
  /// single_word token beside it). Nothing for other names.
  /// Source: unicode_table.cpp.
  static std::optional<CodePointSet> Named(std::string_view name);

  static CodePointSet All() { return CodePointSet({{0, kMaxCodePoint}}); }

  CodePointSet Union(const CodePointSet& other) const;
  CodePointSet Intersect(const CodePointSet& other) const;
  CodePointSet Complement() const;

  bool Contains(uint32_t code_point) const;

  bool empty() const { return ranges_.empty(); }

  const std::vector<CodePointRange>& ranges() const { return ranges_; }

  friend bool operator==(const CodePointSet&, const CodePointSet&) = default;

 private:
  std::vector<CodePointRange> ranges_;
};

}  // namespace ft::text
