#include "plugins/moe-offload/plan.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ft/plugin/moe_sdk.h"

namespace ft::moe_offload {
namespace {

// Two kinds: three layers of 8 experts of 1024 bytes, one layer of 4 of 64 bytes.
class OffloadPlanTest : public testing::Test {
 protected:
  OffloadPlanTest() {
    for (ft_expert_kind* kind : {&kinds_[0], &kinds_[1]}) {
      *kind = {};
      kind->hidden_dim = 32;
      kind->intermediate_dim = 16;
      kind->top_k = 2;
    }
    kinds_[0].n_experts = 8;
    kinds_[1].n_experts = 4;
    model_.n_kinds = 2;
    model_.n_layers = 4;
    model_.kinds = kind_pointers_;
    model_.expert_bytes = expert_bytes_;
    model_.layers = layers_;
    model_.max_tokens = 10;
    budget_.device_kind = FT_DEVICE_CPU;
    budget_.bytes_by_kind = bytes_by_kind_;
    error_.message[0] = '\0';
  }

  ft_expert_kind kinds_[2];
  const ft_expert_kind* kind_pointers_[2] = {&kinds_[0], &kinds_[1]};
  const uint64_t expert_bytes_[2] = {1024, 64};
  const ft_moe_layer layers_[4] = {{0, 0}, {1, 1}, {2, 0}, {5, 0}};
  uint64_t bytes_by_kind_[2] = {5000, 128};
  ft_moe_model model_ = {};
  ft_moe_budget budget_ = {};
  ft_moe_plan plan_ = {};
  ft_error error_ = {};
};

TEST_F(OffloadPlanTest, HoldsWholeExpertsWithinTheBudget) {
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.n_slots, 4U + 2U);
  EXPECT_EQ(plan_.slot_bytes, 4U * 1024 + 2U * 64);
  EXPECT_EQ(plan_.staging_bytes, 0U);
  EXPECT_EQ(plan_.needs_banks, 0U);
  EXPECT_GE(plan_.host_bytes, 10U * 2 * 32 * sizeof(float));
}

TEST_F(OffloadPlanTest, NeverMoreSlotsThanExperts) {
  bytes_by_kind_[0] = 1 << 30;
  bytes_by_kind_[1] = 1 << 30;
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.n_slots, 24U + 4U);
}

TEST_F(OffloadPlanTest, StagesOnlyOnADeviceWithoutBanks) {
  budget_.device_kind = FT_DEVICE_SIM;
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.staging_bytes, 2U * kStagingGroup * 1024);
  budget_.has_banks = 1;
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.staging_bytes, 0U);
}

TEST_F(OffloadPlanTest, RefusesABudgetBelowOneExpertWithTheNumbers) {
  bytes_by_kind_[0] = 1023;
  EXPECT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_E_NO_MEMORY);
  EXPECT_NE(std::string(error_.message).find("1023"), std::string::npos);
  EXPECT_NE(std::string(error_.message).find("1024"), std::string::npos);
}

TEST_F(OffloadPlanTest, RefusesDevicesThatItDoesNotKnow) {
  budget_.device_kind = FT_DEVICE_CUDA;
  EXPECT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_E_UNSUPPORTED);
}

TEST_F(OffloadPlanTest, LayersFindTheirKindAndPlace) {
  const plugin::LayerTable table(model_);
  EXPECT_EQ(table.Find(5)->kind, 0U);
  EXPECT_EQ(table.Find(5)->index_in_kind, 2U);
  EXPECT_EQ(table.Find(1)->kind, 1U);
  EXPECT_EQ(table.Find(3), nullptr);
  EXPECT_EQ(table.Find(6), nullptr);
  EXPECT_EQ(table.num_layers_of_kind(0), 3U);
}

}  // namespace
}  // namespace ft::moe_offload
