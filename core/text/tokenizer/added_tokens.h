// AddedTokens: tokens that are found in a text by their letters, before anything splits it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/tokenizer/code_point_set.h"
#include "core/text/tokenizer/normalizer.h"
#include "core/text/tokenizer/vocabulary.h"

namespace ft::text {

struct AddedToken {
  std::string content;
  std::string decoded;  ///< what it decodes to: content, normalised if `normalized`
  int32_t id = 0;
  bool single_word = false;  ///< only where no letter, mark, digit or _ is beside it
  bool lstrip = false;       ///< eats white space before it
  bool rstrip = false;       ///< eats white space behind it
  bool normalized = false;   ///< looked for after normalising, in its normalised form
  bool special = false;
};

/// A part of a text: the added token `id` was found there, or (-1) plain text.
struct TextPart {
  TextSpan span;
  int32_t id = -1;
};

/// Finds the leftmost, then longest of a list of strings. Immutable once filled.
class StringTrie {
 public:
  /// Of two equal strings, the first one counts. Empty ones are left out.
  void Add(std::string_view text, size_t index);

  /// Length of the longest string that `text` has at `at`, 0 if none; says which in `*index`.
  size_t LongestAt(std::string_view text, size_t at, size_t* index) const;

 private:
  struct Node {
    uint8_t byte = 0;
    int32_t sibling = -1;
    int32_t child = -1;
    int32_t index = -1;
  };

  int32_t ChildOf(int32_t first, uint8_t byte) const;

  std::vector<Node> nodes_;
  std::array<int32_t, 256> roots_ = MakeRoots();

  static constexpr std::array<int32_t, 256> MakeRoots() {
    std::array<int32_t, 256> roots = {};
    roots.fill(-1);
    return roots;
  }
};

class AddedTokens {
 public:
  /// Reads the `added_tokens` array. As in the library, a token that is in the vocabulary has its
  /// id from there, and others get the ids behind it in order: `id` is only compared.
  /// Errors: kDataLoss: broken; kResourceExhausted: too many or too long; as Normalizer::Normalize.
  static Result<AddedTokens> FromJson(const json::Value& added_tokens,
                                      const Vocabulary& vocabulary,
                                      const Normalizer& normalizer);

  /// Splits `text` at the tokens that are not `normalized` (or are), left to right. Parts may
  /// overlap where a token that eats white space is followed by one that begins in it.
  /// Replaces `*parts`; plain parts are not empty.
  void Split(std::string_view text, bool normalized, std::vector<TextPart>* parts) const;

  const AddedToken* FindId(int32_t id) const;
  std::optional<int32_t> FindContent(std::string_view content) const;

  /// Whether a token spelled so is special. As in the library, a special token whose `decoded` is
  /// not its content is no special one for decoding, and is not skipped.
  bool IsSpecial(std::string_view content) const;

  /// Highest id + 1 of added tokens; 0 if there are none.
  int32_t end_id() const { return by_id_.empty() ? 0 : by_id_.rbegin()->first + 1; }

 private:
  Status Add(AddedToken token, const Vocabulary& vocabulary);
  Status FillTries(const Normalizer& normalizer);
  bool IsSingleWord(std::string_view text, size_t begin, size_t end) const;
  size_t StripLeft(std::string_view text, size_t begin) const;
  size_t StripRight(std::string_view text, size_t end) const;

  std::vector<AddedToken> ordered_;  // in the order of the library's search: special ones first
  std::map<int32_t, AddedToken> by_id_;
  std::map<std::string, int32_t, std::less<>> by_content_;
  std::map<std::string, bool, std::less<>> is_special_;
  int32_t highest_id_ = -1;
  bool is_warned_ = false;  // of ids that differ from the file's
  std::vector<int32_t> trie_ids_;
  std::array<StringTrie, 2> tries_;  // [normalized]
  CodePointSet word_;
  CodePointSet space_;
};

}  // namespace ft::text
