#include "core/expert/expert_cache.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace ft {

ExpertCache::ExpertCache(int32_t num_keys, int32_t num_slots)
    : num_slots_(num_slots),
      tree_leaves_(static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(num_slots)))) {
  FT_CHECK(num_keys >= 0 && num_slots >= 1);
  slot_of_key_.assign(static_cast<size_t>(num_keys), kNoSlot);
  key_of_slot_.assign(static_cast<size_t>(num_slots), kNoKey);
  last_wave_.assign(static_cast<size_t>(num_slots), 0);
  tree_.assign(2 * static_cast<size_t>(tree_leaves_), kNoSlot);
  for (SlotId slot = 0; slot < num_slots; ++slot) {
    tree_[static_cast<size_t>(tree_leaves_) + static_cast<size_t>(slot)] = slot;
  }
  for (int32_t node = tree_leaves_ - 1; node >= 1; --node) {
    tree_[static_cast<size_t>(node)] =
        Older(tree_[2 * static_cast<size_t>(node)], tree_[2 * static_cast<size_t>(node) + 1]);
  }
}

uint64_t ExpertCache::Bytes(uint64_t num_keys, uint64_t num_slots) {
  const uint64_t tree_bytes = 4 * num_slots * sizeof(SlotId);  // twice the next power of two
  return num_keys * sizeof(SlotId) + num_slots * (sizeof(int32_t) + sizeof(uint64_t)) + tree_bytes;
}

SlotId ExpertCache::Find(int32_t key) const {
  return slot_of_key_[static_cast<size_t>(key)];
}

int32_t ExpertCache::KeyAt(SlotId slot) const {
  return key_of_slot_[static_cast<size_t>(slot)];
}

// Leaves keep slot order, so on equal age the left one, the lower slot, wins.
SlotId ExpertCache::Older(SlotId a, SlotId b) const {
  if (a == kNoSlot || b == kNoSlot) {
    return a == kNoSlot ? b : a;
  }
  return last_wave_[static_cast<size_t>(b)] < last_wave_[static_cast<size_t>(a)] ? b : a;
}

SlotId ExpertCache::Oldest() const {
  return tree_[1];
}

void ExpertCache::Touch(SlotId slot, uint64_t wave) {
  last_wave_[static_cast<size_t>(slot)] = wave;
  for (int32_t node = (tree_leaves_ + slot) / 2; node >= 1; node /= 2) {
    tree_[static_cast<size_t>(node)] =
        Older(tree_[2 * static_cast<size_t>(node)], tree_[2 * static_cast<size_t>(node) + 1]);
  }
}

int32_t ExpertCache::PlaceWave(std::span<int32_t> pending,
                               int32_t max_wave,
                               std::span<Placement> placed) {
  FT_CHECK(max_wave >= 1);
  const auto capacity = static_cast<size_t>(std::min(max_wave, num_slots_));
  ++wave_;
  size_t num_placed = 0;
  size_t num_left = 0;
  for (const int32_t key : pending) {  // hits
    const SlotId slot = Find(key);
    if (slot == kNoSlot || num_placed == capacity) {
      pending[num_left++] = key;
      continue;
    }
    Touch(slot, wave_);
    placed[num_placed++] = {key, slot, true, kNoKey};
  }
  // Room is left only when every hit was placed, so what is evicted here is not needed any more.
  size_t next = 0;
  while (num_placed < capacity && next < num_left) {
    const int32_t key = pending[next++];
    const SlotId slot = Oldest();
    int32_t& holds = key_of_slot_[static_cast<size_t>(slot)];
    const int32_t evicted = holds;
    if (evicted == kNoKey) {
      ++num_resident_;
    } else {
      slot_of_key_[static_cast<size_t>(evicted)] = kNoSlot;
    }
    holds = key;
    slot_of_key_[static_cast<size_t>(key)] = slot;
    Touch(slot, wave_);
    placed[num_placed++] = {key, slot, false, evicted};
  }
  std::copy(pending.begin() + static_cast<std::ptrdiff_t>(next),
            pending.begin() + static_cast<std::ptrdiff_t>(num_left), pending.begin());
  return static_cast<int32_t>(num_placed);
}

void ExpertCache::Forget(int32_t key) {
  const SlotId slot = Find(key);
  if (slot == kNoSlot) {
    return;
  }
  slot_of_key_[static_cast<size_t>(key)] = kNoSlot;
  key_of_slot_[static_cast<size_t>(slot)] = kNoKey;
  --num_resident_;
  Touch(slot, 0);
}

}  // namespace ft
