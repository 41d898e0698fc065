// Normalizer: the `normalizer` of tokenizer.json, a chain of steps over a stretch of text.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/tokenizer/split_regex.h"
#include "core/text/tokenizer/unicode_norm.h"

namespace ft::text {

class Normalizer {
 public:
  /// Reads `normalizer`; null is no step. NFC, NFD, NFKC, NFKD, Replace, Prepend, Sequence.
  /// Errors: kUnimplemented: another type, by name; kDataLoss: broken.
  static Result<Normalizer> FromJson(const json::Value& normalizer);

  bool is_empty() const { return steps_.empty(); }

  /// Errors: kResourceExhausted: a pattern gave up or the text grew beyond `max_bytes`; kInternal.
  Result<std::string> Normalize(std::string_view text,
                                size_t max_bytes,
                                RegexScratch* scratch) const;

 private:
  struct Replace {
    SplitRegex pattern;
    std::string content;
  };

  struct Prepend {
    std::string content;
  };

  using Step = std::variant<UnicodeNormalizer, Replace, Prepend>;

  Status AddSteps(const json::Value& normalizer, int depth);
  Status AddReplace(const json::Value& normalizer);

  std::vector<Step> steps_;
};

/// Reads `{"String": …}` or `{"Regex": …}`. Errors: as SplitRegex::Compile; kDataLoss.
Result<SplitRegex> ReadPattern(const json::Value& pattern);

}  // namespace ft::text
