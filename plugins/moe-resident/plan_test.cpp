#include "plugins/moe-resident/plan.h"

#include <gtest/gtest.h>

namespace ft::moe_resident {
namespace {

class ResidentPlanTest : public testing::Test {
 protected:
  ResidentPlanTest() {
    kind_.hidden_dim = 32;
    kind_.intermediate_dim = 16;
    kind_.n_experts = 8;
    kind_.top_k = 2;
    model_.n_kinds = 1;
    model_.n_layers = 2;
    model_.kinds = kind_pointers_;
    model_.expert_bytes = expert_bytes_;
    model_.layers = layers_;
    model_.max_tokens = 10;
  }

  ft_expert_kind kind_ = {};
  const ft_expert_kind* kind_pointers_[1] = {&kind_};
  const uint64_t expert_bytes_[1] = {1024};
  const ft_moe_layer layers_[2] = {{0, 0}, {7, 0}};
  ft_moe_model model_ = {};
  ft_moe_budget budget_ = {};
  ft_moe_plan plan_ = {};
  ft_error error_ = {};
};

TEST_F(ResidentPlanTest, OnTheCpuItUsesTheBanksInPlace) {
  budget_.device_kind = FT_DEVICE_CPU;
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.needs_banks, 1U);
  EXPECT_EQ(plan_.slot_bytes, 0U);
  EXPECT_EQ(plan_.n_slots, 0U);
  EXPECT_GE(plan_.host_bytes, 10U * 2 * 32 * sizeof(float));
}

TEST_F(ResidentPlanTest, OnADeviceItTakesAllExpertsAndStagesWithoutBanks) {
  budget_.device_kind = FT_DEVICE_SIM;
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.needs_banks, 0U);
  EXPECT_EQ(plan_.n_slots, 16U);
  EXPECT_EQ(plan_.slot_bytes, 16U * 1024);
  EXPECT_EQ(plan_.staging_bytes, kStagingExperts * 1024U);
  budget_.has_banks = 1;
  ASSERT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_OK);
  EXPECT_EQ(plan_.staging_bytes, 0U);
}

TEST_F(ResidentPlanTest, RefusesDevicesThatItDoesNotKnow) {
  budget_.device_kind = FT_DEVICE_CUDA;
  EXPECT_EQ(MakePlan(model_, budget_, &plan_, &error_), FT_E_UNSUPPORTED);
}

}  // namespace
}  // namespace ft::moe_resident
