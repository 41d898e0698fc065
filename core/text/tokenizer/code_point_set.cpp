// CodePointSet: sorted ranges, and the named classes read from the generated table.
#include "core/text/tokenizer/code_point_set.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/text/tokenizer/unicode_table.h"

namespace ft::text {
namespace {

// Reads one hexadecimal number of the table and moves `*text` behind it.
uint32_t TakeHex(std::string_view* text) {
  uint32_t value = 0;
  while (!text->empty()) {
    const char c = text->front();
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint32_t>(c - '0');
    } else if (c >= 'A' && c <= 'F') {
      value = value * 16 + static_cast<uint32_t>(c - 'A' + 10);
    } else {
      break;
    }
    text->remove_prefix(1);
  }
  return value;
}

void AppendTableRanges(std::string_view text, std::vector<CodePointRange>* out) {
  while (!text.empty()) {
    CodePointRange range;
    range.first = TakeHex(&text);
    range.last = range.first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      range.last = TakeHex(&text);
    }
    FT_CHECK(text.empty() || text.front() == ',');
    if (!text.empty()) {
      text.remove_prefix(1);
    }
    out->push_back(range);
  }
}

}  // namespace

CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.first < b.first; });
  for (const CodePointRange& range : ranges) {
    FT_CHECK(range.first <= range.last && range.last <= kMaxCodePoint);
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

std::optional<CodePointSet> CodePointSet::Named(std::string_view name) {
  if (name == "C") {  // with the unassigned ones, which no table entry lists
    CodePointSet assigned;
    for (const char* group : {"L", "M", "N", "P", "S", "Z"}) {
      assigned = assigned.Union(*Named(group));
    }
    return assigned.Complement();
  }
  const bool is_word = name == "split_word" || name == "split_class_word" || name == "token_word";
  std::vector<CodePointRange> ranges;
  bool is_found = false;
  for (size_t i = 0; i < kUnicodeTableSize; ++i) {
    const std::string_view entry = kUnicodeTable[i].name;
    bool is_member = entry == name;
    if (name.size() == 1) {
      is_member = entry.size() == 2 && entry[0] == name[0];  // "L" is Lu, Ll, …
    } else if (is_word) {
      is_member = (entry.size() == 2 && (entry[0] == 'L' || entry[0] == 'M')) || entry == "Nd" ||
                  entry == "Nl" || entry == "Pc" ||
                  (entry.substr(0, name.size()) == name && entry.substr(name.size()) == "_extra");
    } else if (entry.find('_') != std::string_view::npos) {
      is_member = false;
    }
    if (is_member) {
      is_found = true;
      AppendTableRanges(kUnicodeTable[i].ranges, &ranges);
    }
  }
  if (!is_found) {
    return std::nullopt;
  }
  return CodePointSet(std::move(ranges));
}

CodePointSet CodePointSet::Union(const CodePointSet& other) const {
  std::vector<CodePointRange> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePointSet(std::move(all));
}

CodePointSet CodePointSet::Intersect(const CodePointSet& other) const {
  CodePointSet out;
  size_t i = 0;
  size_t j = 0;
  while (i < ranges_.size() && j < other.ranges_.size()) {
    const CodePointRange& a = ranges_[i];
    const CodePointRange& b = other.ranges_[j];
    const uint32_t first = std::max(a.first, b.first);
    const uint32_t last = std::min(a.last, b.last);
    if (first <= last) {
      out.ranges_.push_back({first, last});
    }
    (a.last < b.last) ? ++i : ++j;
  }
  return out;
}

CodePointSet CodePointSet::Complement() const {
  CodePointSet out;
  uint32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) {
      out.ranges_.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) {
    out.ranges_.push_back({next, kMaxCodePoint});
  }
  return out;
}

bool CodePointSet::Contains(uint32_t code_point) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                       [](uint32_t c, const CodePointRange& range) { return c < range.first; });
  return after != ranges_.begin() && code_point <= std::prev(after)->last;
}

}  // namespace ft::text
