#include "core/kv/page_pool.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(PagePoolTest, HandsOutEveryPageOnceThenRefusesWithoutTakingAny) {
  PagePool pool(3);
  std::vector<PageId> pages;
  EXPECT_TRUE(pool.Take(2, &pages));
  EXPECT_EQ(pages, (std::vector<PageId>{0, 1}));
  EXPECT_FALSE(pool.Take(2, &pages));
  EXPECT_EQ(pages.size(), 2U);
  EXPECT_TRUE(pool.Take(1, &pages));
  EXPECT_EQ(pool.num_free(), 0);
  pool.GiveBack(1);
  EXPECT_TRUE(pool.Take(1, &pages));
  EXPECT_EQ(pages.back(), 1);
}

TEST(PagePoolDeathTest, GivingBackTwiceIsACheckFailure) {
  PagePool pool(1);
  std::vector<PageId> pages;
  EXPECT_TRUE(pool.Take(1, &pages));
  pool.GiveBack(0);
  EXPECT_DEATH(pool.GiveBack(0), "check failed");
}

}  // namespace
}  // namespace ft
