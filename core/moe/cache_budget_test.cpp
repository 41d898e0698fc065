#include "core/moe/cache_budget.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ft {
namespace {

using Kinds = std::vector<ExpertKindCount>;

ExpertCacheRequest Slots(int64_t count) {
  ExpertCacheRequest request;
  request.num_slots = count;
  return request;
}

ExpertCacheRequest Rate(double rate) {
  ExpertCacheRequest request;
  request.rate = rate;
  return request;
}

ExpertCacheRequest Mem(uint64_t bytes) {
  ExpertCacheRequest request;
  request.mem_bytes = bytes;
  return request;
}

TEST(ResolveExpertCacheTest, OneKindGetsWhatIsAskedUpToAllExperts) {
  const Kinds kinds = {{128, 1000}};
  EXPECT_EQ(ResolveExpertCache(Slots(1), kinds, 0).value().num_slots, 1);
  EXPECT_EQ(ResolveExpertCache(Slots(50), kinds, 0).value().bytes_by_kind[0], 50'000U);
  EXPECT_EQ(ResolveExpertCache(Slots(1'000'000), kinds, 0).value().num_slots, 128);
  EXPECT_EQ(ResolveExpertCache(Rate(0.5), kinds, 0).value().num_slots, 64);
  EXPECT_EQ(ResolveExpertCache(Rate(1), kinds, 0).value().num_slots, 128);
  EXPECT_EQ(ResolveExpertCache(Rate(1e-6), kinds, 0).value().num_slots, 1);
  EXPECT_EQ(ResolveExpertCache(Mem(10'999), kinds, 0).value().num_slots, 10);
  EXPECT_EQ(ResolveExpertCache({}, kinds, 64'000).value().num_slots, 64);
  EXPECT_EQ(ResolveExpertCache({}, kinds, UINT64_MAX).value().num_slots, 128);
}

TEST(ResolveExpertCacheTest, RefusesWhatMakesNoSense) {
  const Kinds kinds = {{8, 1000}, {8, 500}};
  ExpertCacheRequest both = Slots(4);
  both.rate = 0.5;
  EXPECT_EQ(ResolveExpertCache(both, kinds, 0).status().code(), StatusCode::kInvalidArgument);
  for (const double rate : {0.0, -1.0, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(ResolveExpertCache(Rate(rate), kinds, 0).status().code(),
              StatusCode::kInvalidArgument);
  }
  for (const int64_t slots : {-5, 0, 1}) {  // two kinds want two slots
    EXPECT_EQ(ResolveExpertCache(Slots(slots), kinds, 0).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(ResolveExpertCache(Mem(1499), kinds, 0).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(ResolveExpertCache(Mem(1500), kinds, 0).value().num_slots, 2);
}

TEST(ResolveExpertCacheTest, NoKindsIsNoSlots) {
  EXPECT_EQ(ResolveExpertCache({}, {}, 100).value().num_slots, 0);
  EXPECT_EQ(ResolveExpertCache(Slots(3), {}, 100).value().num_slots, 0);
}

TEST(ResolveExpertCacheTest, EveryKindHasASlotNoneTooManyAndNothingIsWasted) {
  std::mt19937 random(1);
  for (int run = 0; run < 2000; ++run) {
    Kinds kinds;
    int64_t all = 0;
    uint64_t least = 0;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      kinds.push_back({1 + static_cast<int64_t>(random() % 300), 64 + 64 * (random() % 50)});
      all += kinds.back().num_experts;
      least += kinds.back().expert_bytes;
    }
    const auto num_kinds = static_cast<int64_t>(kinds.size());
    const int64_t wanted = num_kinds + static_cast<int64_t>(random() % 600);
    const ExpertCacheBudget by_slots = ResolveExpertCache(Slots(wanted), kinds, 0).value();
    EXPECT_EQ(by_slots.num_slots, std::min(wanted, all));
    const uint64_t bytes = least + random() % 1'000'000;
    const ExpertCacheBudget by_bytes = ResolveExpertCache(Mem(bytes), kinds, 0).value();
    EXPECT_LE(by_bytes.num_bytes, bytes);
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      for (const ExpertCacheBudget& budget : {by_slots, by_bytes}) {
        EXPECT_GE(budget.slots_by_kind[kind], 1);
        EXPECT_LE(budget.slots_by_kind[kind], kinds[kind].num_experts);
      }
      if (by_bytes.slots_by_kind[kind] < kinds[kind].num_experts) {
        EXPECT_GT(by_bytes.num_bytes + kinds[kind].expert_bytes, bytes);
      }
    }
  }
}

}  // namespace
}  // namespace ft
