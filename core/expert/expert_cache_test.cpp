// Every sequence of steps up to a bound, against an oracle that knows no tree and no integers.
#include "core/expert/expert_cache.h"

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ft {
namespace {

// What the header says, in the most obvious way.
class Oracle {
 public:
  explicit Oracle(int num_slots) : slots_(static_cast<size_t>(num_slots)) {}

  std::vector<Placement> PlaceWave(std::vector<int32_t>* pending, int max_wave) {
    ++wave_;
    const size_t capacity = std::min(static_cast<size_t>(max_wave), slots_.size());
    std::vector<Placement> placed;
    for (const bool wants_hit : {true, false}) {
      std::vector<int32_t> left;
      for (const int32_t key : *pending) {
        const auto at = std::find_if(slots_.begin(), slots_.end(),
                                     [&](const Slot& slot) { return slot.key == key; });
        if (placed.size() == capacity || (wants_hit && at == slots_.end())) {
          left.push_back(key);
        } else if (wants_hit) {
          at->age = wave_;
          placed.push_back({key, static_cast<SlotId>(at - slots_.begin()), true, kNoKey});
        } else {
          const auto oldest = std::min_element(
              slots_.begin(), slots_.end(),
              [](const Slot& a, const Slot& b) { return a.age < b.age; });  // the first of equals
          placed.push_back({key, static_cast<SlotId>(oldest - slots_.begin()), false, oldest->key});
          *oldest = {key, wave_};
        }
      }
      *pending = left;
    }
    return placed;
  }

  void Forget(int32_t key) {
    for (Slot& slot : slots_) {
      if (slot.key == key) {
        slot = {};
      }
    }
  }

  int32_t KeyAt(SlotId slot) const { return slots_[static_cast<size_t>(slot)].key; }

 private:
  struct Slot {
    int32_t key = kNoKey;
    int age = 0;
  };

  std::vector<Slot> slots_;
  int wave_ = 0;
};

bool IsSame(const Placement& a, const Placement& b) {
  return a.key == b.key && a.slot == b.slot && a.is_hit == b.is_hit && a.evicted == b.evicted;
}

// One step in waves on both; returns false on any difference.
bool StepAgrees(ExpertCache* cache, Oracle* oracle, std::vector<int32_t> keys, int max_wave) {
  std::vector<int32_t> oracle_pending = keys;
  size_t num_pending = keys.size();
  std::vector<Placement> placed(keys.size());
  std::vector<int32_t> seen;
  int num_waves = 0;
  while (num_pending > 0) {
    const auto num_placed =
        static_cast<size_t>(cache->PlaceWave(std::span(keys).first(num_pending), max_wave, placed));
    const std::vector<Placement> expected = oracle->PlaceWave(&oracle_pending, max_wave);
    if (num_placed != expected.size() || num_placed == 0 ||
        !std::equal(expected.begin(), expected.end(), placed.begin(), IsSame)) {
      return false;
    }
    num_pending -= num_placed;
    if (!std::equal(oracle_pending.begin(), oracle_pending.end(), keys.begin())) {
      return false;
    }
    for (size_t i = 0; i < num_placed; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (placed[i].slot == placed[j].slot) {
          return false;
        }
      }
      seen.push_back(placed[i].key);
    }
    ++num_waves;
  }
  const int wave = std::min(max_wave, static_cast<int>(cache->num_slots()));
  const int num_keys = static_cast<int>(seen.size());
  int num_resident = 0;
  for (SlotId slot = 0; slot < cache->num_slots(); ++slot) {
    const int32_t key = cache->KeyAt(slot);
    num_resident += key != kNoKey ? 1 : 0;
    if (key != oracle->KeyAt(slot) || (key != kNoKey && cache->Find(key) != slot)) {
      return false;
    }
  }
  return num_waves == (num_keys + wave - 1) / wave && num_resident == cache->num_resident();
}

std::vector<int32_t> KeysOf(unsigned set) {
  std::vector<int32_t> keys;
  for (int32_t key = 0; set >> key != 0; ++key) {
    if ((set >> key & 1U) != 0) {
      keys.push_back(key);
    }
  }
  return keys;
}

TEST(ExpertCacheTest, AllHistoriesOfThreeStepsOverFourExpertsEqualTheOracle) {
  constexpr int kKeys = 4;
  constexpr unsigned kSets = 1U << kKeys;
  for (int num_slots = 1; num_slots <= kKeys + 1; ++num_slots) {
    for (int max_wave = 1; max_wave <= num_slots; ++max_wave) {
      for (unsigned history = 0; history < kSets * kSets * kSets; ++history) {
        ExpertCache cache(kKeys, num_slots);
        Oracle oracle(num_slots);
        for (unsigned rest = history, step = 0; step < 3; ++step, rest /= kSets) {
          ASSERT_TRUE(StepAgrees(&cache, &oracle, KeysOf(rest % kSets), max_wave))
              << num_slots << " slots, waves of " << max_wave << ", history " << history
              << ", step " << step;
        }
      }
    }
  }
}

TEST(ExpertCacheTest, LongRandomHistoriesWithForgettingEqualTheOracle) {
  std::mt19937 random(7);
  for (int run = 0; run < 60; ++run) {
    const int num_keys = 1 + static_cast<int>(random() % 70);
    const int num_slots = 1 + static_cast<int>(random() % 40);
    const int max_wave = 1 + static_cast<int>(random() % 40);
    ExpertCache cache(num_keys, num_slots);
    Oracle oracle(num_slots);
    for (int step = 0; step < 60; ++step) {
      std::vector<int32_t> keys;
      for (int32_t key = 0; key < num_keys; ++key) {
        if (random() % 4 == 0) {
          keys.push_back(key);
        }
      }
      std::shuffle(keys.begin(), keys.end(), random);
      ASSERT_TRUE(StepAgrees(&cache, &oracle, keys, max_wave)) << "run " << run;
      if (random() % 3 == 0) {
        const auto key = static_cast<int32_t>(random() % static_cast<unsigned>(num_keys));
        cache.Forget(key);
        oracle.Forget(key);
      }
    }
  }
}

TEST(ExpertCacheTest, HitsOfAStepAreNeverEvictedByIt) {
  ExpertCache cache(6, 4);
  std::vector<int32_t> keys = {0, 1, 2, 3};
  std::vector<Placement> placed(4);
  ASSERT_EQ(cache.PlaceWave(keys, 4, placed), 4);
  std::vector<int32_t> step = {4, 5, 0, 1, 2, 3};  // misses first in the list
  size_t num_pending = step.size();
  int num_hits = 0;
  while (num_pending > 0) {
    const auto num_placed =
        static_cast<size_t>(cache.PlaceWave(std::span(step).first(num_pending), 2, placed));
    for (size_t i = 0; i < num_placed; ++i) {
      num_hits += placed[i].is_hit ? 1 : 0;
    }
    num_pending -= num_placed;
  }
  EXPECT_EQ(num_hits, 4);
}

TEST(ExpertCacheTest, AnEmptyStepDoesNothing) {
  ExpertCache cache(0, 1);
  EXPECT_EQ(cache.PlaceWave({}, 1, {}), 0);
  EXPECT_EQ(cache.num_resident(), 0);
}

}  // namespace
}  // namespace ft
