// PreTokenizer: the `pre_tokenizer` of tokenizer.json: a stretch of text -> pieces that no merge
// crosses.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/tokenizer/split_regex.h"

namespace ft::text {

/// What Split makes of a pattern's matches.
enum class SplitBehavior {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous
};

enum class PrependScheme {
  kFirst,
  kNever,
  kAlways
};

/// Reads "first", "never", "always". Errors: kDataLoss.
Result<PrependScheme> ReadPrependScheme(const std::string& text);

/// Pieces of one stretch, and the memory that they view.
struct PieceList {
  std::vector<std::string_view> pieces;
  std::deque<std::string> texts;  ///< texts that a step changed
};

class PreTokenizer {
 public:
  /// Null is no step. Split, ByteLevel, Metaspace, Digits, Sequence.
  /// Errors: kUnimplemented: another type, by name, or a step behind ByteLevel; kDataLoss.
  static Result<PreTokenizer> FromJson(const json::Value& pre_tokenizer);

  /// Replaces `*list` by the pieces of `text`, which it views. `is_at_start`: the stretch is the
  /// begin of the whole text. Requires valid UTF-8. Errors: kResourceExhausted: a pattern gave up.
  Status Split(std::string_view text,
               bool is_at_start,
               RegexScratch* scratch,
               PieceList* list) const;

 private:
  struct SplitStep {
    SplitRegex pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };

  struct PrefixSpaceStep {};  // of ByteLevel: a space in front of each piece that has none

  struct ByteLevelStep {};

  struct MetaspaceStep {
    std::string replacement;
    PrependScheme prepend_scheme = PrependScheme::kAlways;
  };

  using Step = std::variant<SplitStep, PrefixSpaceStep, ByteLevelStep, MetaspaceStep>;

  Status AddSteps(const json::Value& pre_tokenizer, int depth);
  Status AddSplit(const json::Value& pre_tokenizer);
  Status AddByteLevel(const json::Value& pre_tokenizer);
  Status AddMetaspace(const json::Value& pre_tokenizer);
  Status AddDigits(const json::Value& pre_tokenizer);

  static Status RunSplit(const SplitStep& step, RegexScratch* scratch, PieceList* list);
  static void RunMetaspace(const MetaspaceStep& step, std::string_view start, PieceList* list);

  std::vector<Step> steps_;
  bool has_byte_level_ = false;
};

}  // namespace ft::text
