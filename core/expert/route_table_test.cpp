#include "core/expert/route_table.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(RouteTableTest, EveryRouteIsInItsExpertsGroupOnceAndInOrder) {
  std::mt19937 random(3);
  RouteTable table(200, 16);
  for (int run = 0; run < 300; ++run) {
    const int32_t num_experts = 1 + static_cast<int32_t>(random() % 16);
    const int32_t top_k = 1 + static_cast<int32_t>(random() % 5);
    const int64_t num_tokens = static_cast<int64_t>(random() % 40);
    std::vector<int32_t> ids(static_cast<size_t>(num_tokens * top_k));
    std::vector<float> weights(ids.size());
    int64_t num_routes = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<int32_t>(random() % static_cast<unsigned>(num_experts + 1)) - 1;
      weights[i] = static_cast<float>(i) + 0.5F;
      num_routes += ids[i] >= 0 ? 1 : 0;
    }
    ASSERT_TRUE(table.Build(ids.data(), weights.data(), num_tokens, top_k, num_experts));
    EXPECT_EQ(table.num_routes(), num_routes);
    size_t next_used = 0;
    int64_t num_seen = 0;
    for (int32_t expert = 0; expert < num_experts; ++expert) {
      const RouteTable::Group group = table.Of(expert);
      if (!group.routes.empty()) {
        ASSERT_EQ(table.experts()[next_used++], expert);
      }
      for (size_t i = 0; i < group.routes.size(); ++i) {
        const auto route = static_cast<size_t>(group.routes[i]);
        ASSERT_EQ(ids[route], expert);
        ASSERT_EQ(group.tokens[i], group.routes[i] / top_k);
        ASSERT_EQ(group.weights[i], weights[route]);
        ASSERT_TRUE(i == 0 || group.routes[i - 1] < group.routes[i]);
        ++num_seen;
      }
    }
    EXPECT_EQ(num_seen, num_routes);
    EXPECT_EQ(next_used, table.experts().size());
  }
}

TEST(RouteTableTest, AnIdBeyondTheExpertsIsReported) {
  RouteTable table(4, 4);
  const std::vector<int32_t> ids = {0, 1, 4, 2};
  const std::vector<float> weights(4, 1.0F);
  EXPECT_FALSE(table.Build(ids.data(), weights.data(), 2, 2, 4));
  EXPECT_EQ(table.bad_id(), 4);
  EXPECT_TRUE(table.experts().empty());
  EXPECT_TRUE(table.Of(0).routes.empty());
  EXPECT_EQ(table.num_routes(), 0);
}

}  // namespace
}  // namespace ft
