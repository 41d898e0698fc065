// BpeModel: the `model` of tokenizer.json: vocabulary, merges, and a piece of text -> ids.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/tokenizer/merge_queue.h"
#include "core/text/tokenizer/vocabulary.h"

namespace ft::text {

/// Working memory of BpeModel::Encode; reuse it between pieces.
struct BpeScratch {
  struct Symbol {
    int32_t id = 0;
    int32_t previous = -1;
    int32_t next = -1;  ///< -1: none
    bool is_merged_away = false;
  };

  std::vector<Symbol> symbols;
  MergeQueue queue;
};

/// Byte-pair encoding by rank. Immutable after FromJson.
class BpeModel {
 public:
  /// Reads the `model` object.
  /// Errors: kUnimplemented: type other than BPE, dropout, affixes; kDataLoss: broken.
  static Result<BpeModel> FromJson(const json::Value& model);

  /// Appends the ids of `piece`: merges lowest rank first, of equal ranks the left one. A character
  /// that is not in the vocabulary becomes its bytes (`byte_fallback`), the unknown token, or
  /// nothing. Requires valid UTF-8, less than 2^31 bytes. O(n log n).
  void Encode(std::string_view piece, BpeScratch* scratch, std::vector<int32_t>* ids) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Rule {
    uint64_t pair = 0;  // left id << 32 | right id
    uint32_t rank = 0;
    int32_t new_id = -1;  // -1: free slot
  };

  // Ids of all characters below this are in a table; the letters of byte-level text are.
  static constexpr uint32_t kNumDirectCharacters = 0x800;

  static uint64_t PairOf(int32_t left, int32_t right) {
    return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  }

  Status ReadVocabulary(const json::Value& vocab);
  Status ReadMerges(const json::Array& merges);
  Status AddMerge(std::string_view left, std::string_view right, uint32_t rank);
  void FillTables();
  const Rule* FindRule(int32_t left, int32_t right) const;
  int32_t IdOfCharacter(std::string_view character, uint32_t code_point) const;
  void ReadSymbols(std::string_view piece, std::vector<BpeScratch::Symbol>* symbols) const;
  void FindCrossings();
  bool CanCross(int32_t left, int32_t right) const;
  void PushMerge(int32_t position, BpeScratch* scratch) const;
  void MergeRange(size_t begin, size_t end, BpeScratch* scratch) const;
  void MergeAll(BpeScratch* scratch) const;

  Vocabulary vocabulary_;
  std::vector<Rule> rules_;  // open addressing, a power of two
  /// Pairs (as in Rule) of symbols that some merge may join into one token, open addressing; empty
  /// if it is not known. Long pieces fall apart everywhere else.
  std::vector<uint64_t> crossings_;
  std::vector<int32_t> direct_ids_;
  std::vector<int32_t> byte_ids_;  // 256 ids of <0xNN>, -1: none
  int32_t unknown_id_ = -1;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
};

}  // namespace ft::text
