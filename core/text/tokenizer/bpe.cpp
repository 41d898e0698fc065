// BpeModel: reading it, and merging with a heap over a linked list of symbols.
#include "core/text/tokenizer/bpe.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/tokenizer/json_fields.h"

namespace ft::text {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 22;

constexpr uint64_t kNoPair = ~uint64_t{0};  // ids are below 2^24

// Pieces of at most so many symbols are merged without looking where they fall apart.
constexpr size_t kShortPiece = 64;

size_t HashOf(uint64_t pair) {
  return pair * 0x9E3779B97F4A7C15U >> 32;
}

// Smallest power of two that leaves half of the slots free.
size_t NumSlots(size_t num_entries) {
  size_t num_slots = 16;
  while (num_slots < num_entries * 2) {
    num_slots *= 2;
  }
  return num_slots;
}

Status RefuseParts(const json::Value& model) {
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    FT_ASSIGN_OR_RETURN(const std::string value, StringOr(model, affix, ""));
    if (!value.empty()) {
      return Unimplemented("BPE with {} \"{}\"", affix, value);
    }
  }
  const json::Value* dropout = model.Find("dropout");
  if (dropout != nullptr && !dropout->is_null() && dropout->ToDouble() != 0.0) {
    return Unimplemented("BPE with dropout");
  }
  return Status();
}

}  // namespace

Result<BpeModel> BpeModel::FromJson(const json::Value& model) {
  if (!model.is_object()) {
    return DataLoss("is {}, want object", json::KindName(model.kind()));
  }
  FT_ASSIGN_OR_RETURN(const std::string type, StringOr(model, "type", "BPE"));
  if (type != "BPE") {
    return Unimplemented("type \"{}\"; ft reads BPE", type);
  }
  FT_RETURN_IF_ERROR(RefuseParts(model));
  BpeModel bpe;
  FT_ASSIGN_OR_RETURN(const json::Value* vocab, RequireMember(model, "vocab", json::Kind::kObject));
  FT_RETURN_IF_ERROR(bpe.ReadVocabulary(*vocab));
  FT_ASSIGN_OR_RETURN(const json::Value* merges,
                      RequireMember(model, "merges", json::Kind::kArray));
  FT_RETURN_IF_ERROR(bpe.ReadMerges(merges->as_array()));
  FT_ASSIGN_OR_RETURN(bpe.fuse_unknown_, BoolOr(model, "fuse_unk", false));
  FT_ASSIGN_OR_RETURN(bpe.byte_fallback_, BoolOr(model, "byte_fallback", false));
  FT_ASSIGN_OR_RETURN(bpe.ignore_merges_, BoolOr(model, "ignore_merges", false));
  if (const json::Value* unknown = model.Find("unk_token");
      unknown != nullptr && !unknown->is_null()) {
    FT_ASSIGN_OR_RETURN(const std::string text, RequireString(model, "unk_token"));
    const std::optional<int32_t> id = bpe.vocabulary_.Find(text);
    if (!id) {
      return DataLoss("unk_token \"{}\" is not in vocab", text);
    }
    bpe.unknown_id_ = *id;
  }
  bpe.FillTables();
  bpe.FindCrossings();
  return bpe;
}

Status BpeModel::ReadVocabulary(const json::Value& vocab) {
  const json::Object& entries = vocab.as_object();
  if (entries.size() > kMaxTokens) {
    return ResourceExhausted("vocab has {} entries, more than {}", entries.size(), kMaxTokens);
  }
  vocabulary_ = Vocabulary(entries.size());
  for (const json::Member& entry : entries) {
    FT_ASSIGN_OR_RETURN(const int32_t id, ReadTokenId(entry.value));
    if (vocabulary_.Find(entry.key)) {
      return DataLoss("vocab has \"{}\" twice", entry.key);
    }
    vocabulary_.Add(entry.key, id);
  }
  return Status();
}

Status BpeModel::ReadMerges(const json::Array& merges) {
  if (merges.size() > kMaxTokens) {
    return ResourceExhausted("{} merges, more than {}", merges.size(), kMaxTokens);
  }
  rules_.resize(NumSlots(merges.size()));
  uint32_t rank = 0;
  for (const json::Value& merge : merges) {
    if (merge.is_string()) {
      const std::string_view text = merge.as_string();
      if (text.substr(0, 8) == "#version") {
        continue;
      }
      const size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
        return DataLoss("merge {} is \"{}\", want two tokens and one space", rank, text);
      }
      FT_RETURN_IF_ERROR(AddMerge(text.substr(0, space), text.substr(space + 1), rank));
    } else if (merge.is_array() && merge.as_array().size() == 2 &&
               merge.as_array()[0].is_string() && merge.as_array()[1].is_string()) {
      FT_RETURN_IF_ERROR(
          AddMerge(merge.as_array()[0].as_string(), merge.as_array()[1].as_string(), rank));
    } else {
      return DataLoss("merge {} is neither a string nor a pair of strings", rank);
    }
    ++rank;
  }
  return Status();
}

Status BpeModel::AddMerge(std::string_view left, std::string_view right, uint32_t rank) {
  const std::optional<int32_t> left_id = vocabulary_.Find(left);
  const std::optional<int32_t> right_id = vocabulary_.Find(right);
  std::string both(left);
  both += right;
  const std::optional<int32_t> new_id = vocabulary_.Find(both);
  if (!left_id || !right_id || !new_id) {
    const std::string_view absent = !left_id ? left : !right_id ? right : std::string_view(both);
    return DataLoss("merge {} needs \"{}\", which is not in vocab", rank, absent);
  }
  const uint64_t pair = PairOf(*left_id, *right_id);
  const size_t mask = rules_.size() - 1;
  size_t at = HashOf(pair) & mask;
  while (rules_[at].new_id >= 0 && rules_[at].pair != pair) {
    at = (at + 1) & mask;
  }
  rules_[at] = {pair, rank, *new_id};  // of two, the last one counts
  return Status();
}

const BpeModel::Rule* BpeModel::FindRule(int32_t left, int32_t right) const {
  const uint64_t pair = PairOf(left, right);
  const size_t mask = rules_.size() - 1;
  size_t at = HashOf(pair) & mask;
  while (rules_[at].new_id >= 0) {
    if (rules_[at].pair == pair) {
      return &rules_[at];
    }
    at = (at + 1) & mask;
  }
  return nullptr;
}

void BpeModel::FillTables() {
  direct_ids_.assign(kNumDirectCharacters, -1);
  for (uint32_t c = 0; c < kNumDirectCharacters; ++c) {
    std::string text;
    AppendUtf8(c, &text);
    direct_ids_[c] = vocabulary_.Find(text).value_or(-1);
  }
  byte_ids_.assign(256, -1);
  for (size_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.Find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

bool BpeModel::CanCross(int32_t left, int32_t right) const {
  const uint64_t pair = PairOf(left, right);
  const size_t mask = crossings_.size() - 1;
  size_t at = HashOf(pair) & mask;
  while (crossings_[at] != kNoPair && crossings_[at] != pair) {
    at = (at + 1) & mask;
  }
  return crossings_[at] == pair;
}

// Follows from which symbol to which symbol each token goes, shorter tokens first, and notes for
// each rule which two symbols it joins. Gives up on a vocabulary where a token has two such ways.
void BpeModel::FindCrossings() {
  const auto num_ids = static_cast<size_t>(vocabulary_.end_id());
  std::vector<int32_t> first(num_ids, -1);
  std::vector<int32_t> last(num_ids, -1);
  const auto bytes_of = [this](int32_t id) { return vocabulary_.Text(id).value_or("").size(); };
  const auto add_symbol = [&](int32_t id) {
    if (id >= 0) {
      first[static_cast<size_t>(id)] = last[static_cast<size_t>(id)] = id;
    }
  };
  for (int32_t id = 0; id < vocabulary_.end_id(); ++id) {
    const std::string_view text = vocabulary_.Text(id).value_or("");
    size_t after = 0;
    if (!text.empty() && (DecodeUtf8(text, &after), after == text.size())) {
      add_symbol(id);
    }
  }
  std::for_each(byte_ids_.begin(), byte_ids_.end(), add_symbol);
  add_symbol(unknown_id_);

  std::vector<const Rule*> ordered;
  for (const Rule& rule : rules_) {
    if (rule.new_id >= 0) {
      ordered.push_back(&rule);
    }
  }
  std::sort(ordered.begin(), ordered.end(), [&](const Rule* a, const Rule* b) {
    return bytes_of(a->new_id) < bytes_of(b->new_id);
  });
  crossings_.assign(NumSlots(ordered.size()), kNoPair);
  const size_t mask = crossings_.size() - 1;
  for (const Rule* rule : ordered) {
    const auto left = static_cast<size_t>(rule->pair >> 32);
    const auto right = static_cast<size_t>(rule->pair & 0xFFFFFFFF);
    const auto whole = static_cast<size_t>(rule->new_id);
    if (first[left] < 0 || first[right] < 0) {
      continue;  // no text makes one of the two
    }
    const bool is_new = first[whole] < 0;
    if ((!is_new && (first[whole] != first[left] || last[whole] != last[right])) ||
        bytes_of(rule->new_id) <=
            std::max(bytes_of(static_cast<int32_t>(left)), bytes_of(static_cast<int32_t>(right)))) {
      crossings_.clear();
      return;
    }
    first[whole] = first[left];
    last[whole] = last[right];
    const uint64_t pair = PairOf(last[left], first[right]);
    size_t at = HashOf(pair) & mask;
    while (crossings_[at] != kNoPair && crossings_[at] != pair) {
      at = (at + 1) & mask;
    }
    crossings_[at] = pair;
  }
}

int32_t BpeModel::IdOfCharacter(std::string_view character, uint32_t code_point) const {
  if (code_point < kNumDirectCharacters) {
    return direct_ids_[code_point];
  }
  return vocabulary_.Find(character).value_or(-1);
}

// One symbol per character. As in the library, an unknown token that waits to be fused with the
// next one is not flushed by the bytes of a character between them.
void BpeModel::ReadSymbols(std::string_view piece, std::vector<BpeScratch::Symbol>* symbols) const {
  symbols->clear();
  const auto add = [symbols](int32_t id) { symbols->push_back({id, -1, -1, false}); };
  bool is_unknown_pending = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t start = at;
    const uint32_t code_point = DecodeUtf8(piece, &at);
    const std::string_view character = piece.substr(start, at - start);
    const int32_t id = IdOfCharacter(character, code_point);
    if (id >= 0) {
      if (is_unknown_pending) {
        add(unknown_id_);
        is_unknown_pending = false;
      }
      add(id);
      continue;
    }
    const auto byte_id = [this](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
    if (byte_fallback_ &&
        std::all_of(character.begin(), character.end(), [&](char c) { return byte_id(c) >= 0; })) {
      for (const char c : character) {
        add(byte_id(c));
      }
    } else if (unknown_id_ >= 0) {
      if (is_unknown_pending && !fuse_unknown_) {
        add(unknown_id_);
      }
      is_unknown_pending = true;
    }
  }
  if (is_unknown_pending) {
    add(unknown_id_);
  }
  const auto num_symbols = static_cast<int32_t>(symbols->size());
  for (int32_t i = 0; i < num_symbols; ++i) {
    (*symbols)[static_cast<size_t>(i)].previous = i - 1;
    (*symbols)[static_cast<size_t>(i)].next = i + 1 < num_symbols ? i + 1 : -1;
  }
}

// Queues the merge of the symbol at `position` with the next one, if there is a rule.
void BpeModel::PushMerge(int32_t position, BpeScratch* scratch) const {
  const BpeScratch::Symbol& left = scratch->symbols[static_cast<size_t>(position)];
  const BpeScratch::Symbol& right = scratch->symbols[static_cast<size_t>(left.next)];
  if (const Rule* rule = FindRule(left.id, right.id)) {
    scratch->queue.Push({rule->rank, position, rule->new_id});
  }
}

// Merges within symbols [begin, end), whose first has no previous and whose last no next one.
void BpeModel::MergeRange(size_t begin, size_t end, BpeScratch* scratch) const {
  std::vector<BpeScratch::Symbol>& symbols = scratch->symbols;
  scratch->queue.Reset(end - begin);
  for (size_t i = begin; i + 1 < end; ++i) {
    PushMerge(static_cast<int32_t>(i), scratch);
  }
  WaitingMerge merge;
  while (scratch->queue.Pop(&merge)) {
    BpeScratch::Symbol& left = symbols[static_cast<size_t>(merge.position)];
    if (left.is_merged_away || left.next < 0) {
      continue;
    }
    BpeScratch::Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Rule* rule = FindRule(left.id, right.id);
    if (rule == nullptr || rule->new_id != merge.new_id) {
      continue;  // an older merge changed one of the two
    }
    left.id = merge.new_id;
    left.next = right.next;
    right.is_merged_away = true;
    if (right.next >= 0) {
      symbols[static_cast<size_t>(right.next)].previous = merge.position;
      PushMerge(merge.position, scratch);
    }
    if (left.previous >= 0) {
      PushMerge(left.previous, scratch);
    }
  }
}

// Where no rule can ever join two symbols, what is left and right of it merges independently, so a
// long piece is done in ranges: small heaps instead of one large one. The result is the same.
void BpeModel::MergeAll(BpeScratch* scratch) const {
  std::vector<BpeScratch::Symbol>& symbols = scratch->symbols;
  if (crossings_.empty() || symbols.size() <= kShortPiece) {
    MergeRange(0, symbols.size(), scratch);
    return;
  }
  size_t begin = 0;
  for (size_t i = 1; i < symbols.size(); ++i) {
    if (!CanCross(symbols[i - 1].id, symbols[i].id)) {
      symbols[i - 1].next = -1;
      symbols[i].previous = -1;
      MergeRange(begin, i, scratch);
      begin = i;
    }
  }
  MergeRange(begin, symbols.size(), scratch);
}

void BpeModel::Encode(std::string_view piece,
                      BpeScratch* scratch,
                      std::vector<int32_t>* ids) const {
  if (ignore_merges_) {
    if (const std::optional<int32_t> id = vocabulary_.Find(piece)) {
      ids->push_back(*id);
      return;
    }
  }
  ReadSymbols(piece, &scratch->symbols);
  MergeAll(scratch);
  for (const BpeScratch::Symbol& symbol : scratch->symbols) {
    if (!symbol.is_merged_away) {
      ids->push_back(symbol.id);
    }
  }
}

}  // namespace ft::text
