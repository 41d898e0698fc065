// SplitRegex: one split pattern, compiled; the only owner of PCRE2. Also the literal patterns of
// `{"String": …}`, so that callers need not care.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace ft::text {

/// Bytes [begin, end) of a text.
struct TextSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Memory for matching: one per call of Encode, for all of its patterns. Not thread-safe.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

  struct Impl;

  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Immutable after Compile; Find may run on many threads, each with its own scratch.
class SplitRegex {
 public:
  /// Errors: see TranslatePattern; kUnimplemented also when PCRE2 refuses the pattern.
  static Result<SplitRegex> Compile(std::string_view pattern);

  /// Matches exactly `literal`. Requires a literal that is not empty.
  static SplitRegex Literal(std::string_view literal);

  ~SplitRegex();
  SplitRegex(SplitRegex&&) noexcept;
  SplitRegex& operator=(SplitRegex&&) noexcept;

  /// Sets `*matches` to the matches in `text`, left to right, not overlapping; may be empty ones.
  /// Requires valid UTF-8 of less than 4 GiB. Errors: kResourceExhausted: the limit of steps or of
  /// memory was passed.
  Status Find(std::string_view text, RegexScratch* scratch, std::vector<TextSpan>* matches) const;

 private:
  struct Impl;
  explicit SplitRegex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ft::text
