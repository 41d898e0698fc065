// ExpertCache: which expert is in which slot. Integers only: no memory, no device, no time. One
// cache serves all layers of one kind, whose slots have one size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ft {

using SlotId = int32_t;
inline constexpr SlotId kNoSlot = -1;
inline constexpr int32_t kNoKey = -1;

/// One expert of a wave.
struct Placement {
  int32_t key = kNoKey;
  SlotId slot = kNoSlot;
  bool is_hit = false;       ///< false: the caller fetches it into `slot`
  int32_t evicted = kNoKey;  ///< what the slot held before; kNoKey for a hit or an empty slot
};

/// Least recently used, by wave number; ties to the lower slot; empty slots first.
///
/// A step that needs more experts than a wave may hold is done in waves: the caller lists the
/// distinct experts it needs and calls PlaceWave until none is left, doing the work of each wave
/// before the next one's fetches overwrite its slots. Hits come before misses over the whole step,
/// so no wave evicts what a later wave of the same step would have hit, and a step of n experts
/// takes ceil(n / max_wave) waves.
///
/// O(log slots) per expert, no allocation after construction. One thread.
class ExpertCache {
 public:
  /// Keys are 0..num_keys-1: (index of the layer within its kind) * num_experts + expert.
  /// Requires: num_keys >= 0, num_slots >= 1.
  ExpertCache(int32_t num_keys, int32_t num_slots);

  /// Memory that a cache takes, at most; for plans.
  static uint64_t Bytes(uint64_t num_keys, uint64_t num_slots);

  int32_t num_slots() const { return num_slots_; }

  int32_t num_resident() const { return num_resident_; }

  /// Where `key` is, or kNoSlot. Not a use.
  SlotId Find(int32_t key) const;

  /// What `slot` holds, or kNoKey.
  int32_t KeyAt(SlotId slot) const;

  /// Places n = min(max_wave, num_slots, pending.size()) of the keys in `pending`: those that are
  /// resident, in their order, then others, in their order. Moves the keys that are left to the
  /// front of `pending`, in their order, and writes what was placed to `placed`. Returns n.
  /// `pending`  distinct keys; `placed`  room for n. Requires: max_wave >= 1.
  int32_t PlaceWave(std::span<int32_t> pending, int32_t max_wave, std::span<Placement> placed);

  /// Empties the slot of `key` (its fetch failed). Not resident: nothing happens.
  void Forget(int32_t key);

 private:
  void Touch(SlotId slot, uint64_t wave);
  SlotId Oldest() const;
  SlotId Older(SlotId a, SlotId b) const;

  int32_t num_slots_;
  int32_t num_resident_ = 0;
  uint64_t wave_ = 0;                 // of the last PlaceWave
  std::vector<SlotId> slot_of_key_;   // [num_keys]
  std::vector<int32_t> key_of_slot_;  // [num_slots]
  std::vector<uint64_t> last_wave_;   // [num_slots] 0: empty
  int32_t tree_leaves_;               // power of two >= num_slots
  std::vector<SlotId> tree_;          // [2 * tree_leaves] the oldest slot below each node
};

}  // namespace ft
