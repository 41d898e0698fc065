#include "core/text/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/base/utf8.h"
#include "core/text/tokenizer/json_fields.h"

namespace ft::text {
namespace {

constexpr size_t kMaxAddedTokens = 1 << 16;
constexpr size_t kMaxContentBytes = 4096;  // bounds the time at each place of a text

// Where the character that ends at `end` begins. Requires end > 0 and valid UTF-8.
size_t PreviousCharacter(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) {
    --at;
  }
  return at;
}

Result<AddedToken> ReadToken(const json::Value& value) {
  if (!value.is_object()) {
    return DataLoss("is {}, want object", json::KindName(value.kind()));
  }
  AddedToken token;
  FT_ASSIGN_OR_RETURN(token.content, RequireString(value, "content"));
  FT_ASSIGN_OR_RETURN(const json::Value* id, RequireMember(value, "id", json::Kind::kNumber));
  FT_ASSIGN_OR_RETURN(token.id, ReadTokenId(*id));
  FT_ASSIGN_OR_RETURN(token.single_word, BoolOr(value, "single_word", false));
  FT_ASSIGN_OR_RETURN(token.lstrip, BoolOr(value, "lstrip", false));
  FT_ASSIGN_OR_RETURN(token.rstrip, BoolOr(value, "rstrip", false));
  FT_ASSIGN_OR_RETURN(token.special, BoolOr(value, "special", false));
  FT_ASSIGN_OR_RETURN(token.normalized, BoolOr(value, "normalized", !token.special));
  if (token.content.size() > kMaxContentBytes) {
    return ResourceExhausted("has {} bytes, more than {}", token.content.size(), kMaxContentBytes);
  }
  return token;
}

}  // namespace

int32_t StringTrie::ChildOf(int32_t first, uint8_t byte) const {
  int32_t at = first;
  while (at >= 0 && nodes_[static_cast<size_t>(at)].byte != byte) {
    at = nodes_[static_cast<size_t>(at)].sibling;
  }
  return at;
}

void StringTrie::Add(std::string_view text, size_t index) {
  int32_t parent = -1;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const int32_t first = parent < 0 ? roots_[byte] : nodes_[static_cast<size_t>(parent)].child;
    int32_t at = ChildOf(first, byte);
    if (at < 0) {
      at = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({byte, first, -1, -1});
      (parent < 0 ? roots_[byte] : nodes_[static_cast<size_t>(parent)].child) = at;
    }
    parent = at;
  }
  if (parent >= 0 && nodes_[static_cast<size_t>(parent)].index < 0) {
    nodes_[static_cast<size_t>(parent)].index = static_cast<int32_t>(index);
  }
}

size_t StringTrie::LongestAt(std::string_view text, size_t at, size_t* index) const {
  size_t longest = 0;
  int32_t node = roots_[static_cast<uint8_t>(text[at])];
  for (size_t length = 1; node >= 0; ++length) {
    const Node& current = nodes_[static_cast<size_t>(node)];
    if (current.index >= 0) {
      longest = length;
      *index = static_cast<size_t>(current.index);
    }
    if (at + length >= text.size()) {
      break;
    }
    node = ChildOf(current.child, static_cast<uint8_t>(text[at + length]));
  }
  return longest;
}

Result<AddedTokens> AddedTokens::FromJson(const json::Value& added_tokens,
                                          const Vocabulary& vocabulary,
                                          const Normalizer& normalizer) {
  AddedTokens result;
  result.word_ = *CodePointSet::Named("token_word");
  result.space_ = *CodePointSet::Named("space");
  if (added_tokens.is_null()) {
    return result;
  }
  if (!added_tokens.is_array()) {
    return DataLoss("is {}, want array", json::KindName(added_tokens.kind()));
  }
  if (added_tokens.as_array().size() > kMaxAddedTokens) {
    return ResourceExhausted("{} tokens, more than {}", added_tokens.as_array().size(),
                             kMaxAddedTokens);
  }
  size_t number = 0;
  for (const json::Value& value : added_tokens.as_array()) {
    Result<AddedToken> token = ReadToken(value);
    if (!token.ok()) {
      return token.status().WithContext(fmt::format("token {}", number));
    }
    FT_RETURN_IF_ERROR(result.Add(*std::move(token), vocabulary));
    ++number;
  }
  FT_RETURN_IF_ERROR(result.FillTries(normalizer));
  return result;
}

Status AddedTokens::Add(AddedToken token, const Vocabulary& vocabulary) {
  if (token.content.empty()) {
    return Status();
  }
  const bool is_new_special = token.special && is_special_.emplace(token.content, true).second;
  if (by_content_.contains(token.content)) {
    if (is_new_special) {
      ordered_.push_back(std::move(token));
    }
    return Status();
  }
  std::optional<int32_t> id = vocabulary.Find(token.content);
  if (!id) {
    const auto vocabulary_size = static_cast<int32_t>(vocabulary.size());
    id = highest_id_ >= vocabulary_size ? highest_id_ + 1 : vocabulary_size;
  }
  if (*id >= kMaxTokenId) {
    return DataLoss("\"{}\" would get the id {}", token.content, *id);
  }
  if (*id != token.id) {
    // Said once: a file that has one wrong id tends to have many.
    if (!is_warned_) {
      FT_LOG(
          kWarning,
          "tokenizer.json: added token \"{}\" has id {} there, but {} by its order, which counts",
          token.content, token.id, *id);
    }
    is_warned_ = true;
  }
  token.id = *id;
  token.decoded = token.content;
  highest_id_ = std::max(highest_id_, *id);
  by_content_.emplace(token.content, token.id);
  by_id_.insert_or_assign(token.id, token);
  ordered_.push_back(std::move(token));
  return Status();
}

Status AddedTokens::FillTries(const Normalizer& normalizer) {
  std::stable_partition(ordered_.begin(), ordered_.end(),
                        [](const AddedToken& token) { return token.special; });
  RegexScratch scratch;
  for (size_t i = 0; i < ordered_.size(); ++i) {
    const AddedToken& token = ordered_[i];
    trie_ids_.push_back(by_content_.find(token.content)->second);
    if (!token.normalized) {
      tries_[0].Add(token.content, i);
      continue;
    }
    FT_ASSIGN_OR_RETURN(const std::string normal,
                        normalizer.Normalize(token.content, kMaxContentBytes, &scratch));
    tries_[1].Add(normal, i);
    by_id_.find(trie_ids_.back())->second.decoded = normal;
  }
  return Status();
}

bool AddedTokens::IsSingleWord(std::string_view text, size_t begin, size_t end) const {
  if (begin > 0) {
    size_t at = PreviousCharacter(text, begin);
    if (word_.Contains(DecodeUtf8(text, &at))) {
      return false;
    }
  }
  return end == text.size() || !word_.Contains(DecodeUtf8(text, &end));
}

// Where the white space that ends at `begin` begins.
size_t AddedTokens::StripLeft(std::string_view text, size_t begin) const {
  while (begin > 0) {
    const size_t previous = PreviousCharacter(text, begin);
    size_t at = previous;
    if (!space_.Contains(DecodeUtf8(text, &at))) {
      break;
    }
    begin = previous;
  }
  return begin;
}

size_t AddedTokens::StripRight(std::string_view text, size_t end) const {
  while (end < text.size()) {
    size_t next = end;
    if (!space_.Contains(DecodeUtf8(text, &next))) {
      break;
    }
    end = next;
  }
  return end;
}

// Follows the library's find_matches step by step. A token that eats white space does not move the
// search, so a later token may begin in what was eaten, and parts then overlap: also as there.
void AddedTokens::Split(std::string_view text,
                        bool normalized,
                        std::vector<TextPart>* parts) const {
  parts->clear();
  const StringTrie& trie = tries_[normalized ? 1 : 0];
  size_t plain_begin = 0;
  for (size_t at = 0; at < text.size();) {
    size_t index = 0;
    const size_t length = trie.LongestAt(text, at, &index);
    if (length == 0) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + length;
    at = end;
    const AddedToken& token = by_id_.find(trie_ids_[index])->second;
    if (token.single_word && !IsSingleWord(text, begin, end)) {
      continue;
    }
    if (token.lstrip) {
      begin = std::max(StripLeft(text, begin), plain_begin);
    }
    if (token.rstrip) {
      end = StripRight(text, end);
    }
    if (begin >= end) {
      continue;  // all of it was eaten by the token before
    }
    if (plain_begin < begin) {
      parts->push_back({{static_cast<uint32_t>(plain_begin), static_cast<uint32_t>(begin)}, -1});
    }
    parts->push_back({{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, token.id});
    plain_begin = end;
  }
  if (plain_begin < text.size()) {
    parts->push_back(
        {{static_cast<uint32_t>(plain_begin), static_cast<uint32_t>(text.size())}, -1});
  }
}

const AddedToken* AddedTokens::FindId(int32_t id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &at->second;
}

std::optional<int32_t> AddedTokens::FindContent(std::string_view content) const {
  const auto at = by_content_.find(content);
  return at == by_content_.end() ? std::nullopt : std::optional<int32_t>(at->second);
}

bool AddedTokens::IsSpecial(std::string_view content) const {
  return is_special_.find(content) != is_special_.end();
}

}  // namespace ft::text
