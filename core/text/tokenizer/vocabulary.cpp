#include "core/text/tokenizer/vocabulary.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/check.h"

namespace ft::text {

Vocabulary::Vocabulary(size_t num_tokens) {
  size_t num_slots = 16;
  while (num_slots < num_tokens * 2) {
    num_slots *= 2;
  }
  slots_.resize(num_slots);
}

// The slot that holds `text`, or the free one where it belongs.
size_t Vocabulary::SlotOf(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t at = std::hash<std::string_view>()(text) & mask;
  while (slots_[at].id >= 0 && View(slots_[at].text) != text) {
    at = (at + 1) & mask;
  }
  return at;
}

void Vocabulary::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.id >= 0) {
      slots_[SlotOf(View(slot.text))] = slot;
    }
  }
}

void Vocabulary::Add(std::string_view text, int32_t id) {
  FT_CHECK(id >= 0);
  if ((num_tokens_ + 1) * 2 > slots_.size()) {
    Grow();
  }
  const Span span{static_cast<uint32_t>(pool_.size()), static_cast<uint32_t>(text.size()), true};
  const size_t slot = SlotOf(text);
  FT_CHECK(slots_[slot].id < 0);
  pool_ += text;
  slots_[slot] = {span, id};
  if (static_cast<size_t>(id) >= spans_.size()) {
    spans_.resize(static_cast<size_t>(id) + 1);
  }
  spans_[static_cast<size_t>(id)] = span;
  ++num_tokens_;
}

std::optional<int32_t> Vocabulary::Find(std::string_view text) const {
  const Slot& slot = slots_[SlotOf(text)];
  return slot.id >= 0 ? std::optional<int32_t>(slot.id) : std::nullopt;
}

std::optional<std::string_view> Vocabulary::Text(int32_t id) const {
  if (id < 0 || id >= end_id() || !spans_[static_cast<size_t>(id)].is_used) {
    return std::nullopt;
  }
  return View(spans_[static_cast<size_t>(id)]);
}

}  // namespace ft::text
