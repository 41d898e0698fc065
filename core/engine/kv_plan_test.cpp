#include "core/engine/kv_plan.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

ModelInfo Info() {
  ModelInfo info;
  info.max_positions = 4096;
  info.cache_groups = {{.name = "full", .layer_ids = {0, 1}, .elements_per_token = {64, 64}}};
  return info;
}

constexpr uint64_t kBytesPerToken = 2 * 64 * 4;

TEST(KvPlanTest, WithoutLimitsEveryRunningRequestHasTheModelsWindow) {
  const auto plan = MakeKvPlan(Info(), {.max_running = 4});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->max_model_len, 4096);
  EXPECT_EQ(plan->pool_tokens, 4 * 4096);
  EXPECT_TRUE(plan->notes.empty());
}

TEST(KvPlanTest, ASmallPoolIsTheServedWindow) {
  const auto plan = MakeKvPlan(Info(), {.num_tokens = 512});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->max_model_len, 512);
}

TEST(KvPlanTest, AnOverrideBeyondTheTrainedPositionsIsServedAndSaid) {
  const auto plan =
      MakeKvPlan(Info(), {.max_seq_len = 262144, .kv_reserve_tokens = 262144, .max_running = 1});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->max_model_len, 262144);
  ASSERT_EQ(plan->notes.size(), 1U);
  EXPECT_NE(plan->notes[0].find("never trained"), std::string::npos);
}

TEST(KvPlanTest, ExplicitValuesThatContradictAreRefused) {
  EXPECT_EQ(MakeKvPlan(Info(), {.max_seq_len = 1024, .num_tokens = 512}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeKvPlan(Info(), {.num_pages = 4, .num_tokens = 64}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeKvPlan(Info(), {.num_tokens = 100}).status().code(), StatusCode::kInvalidArgument);
}

TEST(KvPlanTest, MemoryCutsThePoolAndTheRefusalHasTheNumbers) {
  KvPlanRequest request = {.kv_reserve_tokens = 1024,
                           .available_bytes = 2048 * kBytesPerToken + 4096};
  auto plan = MakeKvPlan(Info(), request);
  ASSERT_TRUE(plan.ok());
  EXPECT_GE(plan->max_model_len, 2040);
  EXPECT_LE(plan->max_model_len, 2064);
  EXPECT_LE(plan->num_bytes, request.available_bytes);
  request.available_bytes = 512 * kBytesPerToken;
  const auto refused = MakeKvPlan(Info(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("--kv-reserve-tokens"), std::string::npos);
  EXPECT_NE(refused.status().message().find("short of"), std::string::npos);
}

TEST(KvPlanTest, AWindowedGroupTakesOnlyWhatItsWindowNeeds) {
  ModelInfo info = Info();
  info.cache_groups.push_back(
      {.name = "sliding", .layer_ids = {2}, .window_tokens = 128, .elements_per_token = {64}});
  const auto plan = MakeKvPlan(info, {.max_prefill_tokens = 256, .max_running = 2});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->max_model_len, 4096);
  EXPECT_LT(plan->memory.num_pages[1], plan->memory.num_pages[0] / 4);
}

}  // namespace
}  // namespace ft
