// KindTable: which characters a pattern can tell apart.
#include <algorithm>
#include <map>
#include <utility>

#include "core/base/errors.h"
#include "core/text/tokenizer/split_pattern.h"

namespace ft::text {
namespace {

constexpr size_t kMaxKinds = 256;

// The places where membership in any set changes, from 0 up; the last is one beyond all.
std::vector<uint32_t> Borders(const std::vector<CodePointSet>& sets) {
  std::vector<uint32_t> borders = {0, kMaxCodePoint + 1};
  for (const CodePointSet& set : sets) {
    for (const CodePointRange& range : set.ranges()) {
      borders.push_back(range.first);
      borders.push_back(range.last + 1);
    }
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  return borders;
}

// Length of the character that `lead` begins. Requires a lead byte of valid UTF-8.
size_t CharacterBytes(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

}  // namespace

Result<KindTable> KindTable::Build(const std::vector<CodePointSet>& sets,
                                   std::vector<std::vector<uint8_t>>* set_kinds) {
  set_kinds->assign(sets.size(), {});
  std::map<std::string, uint8_t> kind_of_membership;
  std::vector<uint8_t> flat(kMaxCodePoint + 1);
  const std::vector<uint32_t> borders = Borders(sets);
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    std::string membership(sets.size(), '0');
    for (size_t set = 0; set < sets.size(); ++set) {
      membership[set] = sets[set].Contains(borders[i]) ? '1' : '0';
    }
    const auto [at, is_new] = kind_of_membership.try_emplace(
        membership, static_cast<uint8_t>(kind_of_membership.size() % kMaxKinds));
    if (is_new) {
      if (kind_of_membership.size() > kMaxKinds) {
        return Unimplemented("the pattern tells more than {} kinds of characters apart", kMaxKinds);
      }
      for (size_t set = 0; set < sets.size(); ++set) {
        if (membership[set] == '1') {
          (*set_kinds)[set].push_back(at->second);
        }
      }
    }
    std::fill(flat.begin() + borders[i], flat.begin() + borders[i + 1], at->second);
  }

  KindTable table;
  std::map<std::string, uint16_t> known_pages;
  for (size_t page = 0; page < table.page_of_.size(); ++page) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(page * kPageSize);
    const auto [at, is_new] = known_pages.try_emplace(std::string(begin, begin + kPageSize),
                                                      static_cast<uint16_t>(known_pages.size()));
    if (is_new) {
      table.pages_.insert(table.pages_.end(), begin, begin + kPageSize);
    }
    table.page_of_[page] = at->second;
  }
  return table;
}

bool KindTable::Map(std::string_view text, std::string* kinds) const {
  kinds->resize(text.size());
  char* out = kinds->data();
  const auto* in = reinterpret_cast<const uint8_t*>(text.data());  // NOLINT: bytes of the text
  const uint8_t* const end = in + text.size();
  while (in < end) {
    const uint8_t lead = *in;
    uint32_t code_point = lead;
    const size_t length = CharacterBytes(lead);
    if (length > 1) {
      code_point = lead & (0xFFU >> (length + 1));
      for (size_t i = 1; i < length; ++i) {
        code_point = (code_point << 6) | (in[i] & 0x3FU);
      }
    }
    *out++ = static_cast<char>(KindOf(code_point));
    in += length;
  }
  kinds->resize(static_cast<size_t>(out - kinds->data()));
  return kinds->size() == text.size();
}

}  // namespace ft::text
