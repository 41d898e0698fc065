#include "core/kv_memory/kv_memory.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

CacheGroup TwoLayers() {
  return {.name = "full", .layer_ids = {0, 3}, .window_tokens = 0, .elements_per_token = {8, 24}};
}

TEST(KvMemoryTest, GivesEveryRowItsOwnPlaceAndTakesWhatThePlanSays) {
  const std::vector<CacheGroup> groups = {TwoLayers(), TwoLayers()};
  const KvMemoryOptions options = {.page_size_tokens = 4, .num_pages = {3, 5}};
  auto memory = KvMemory::Create(groups, {}, options);
  ASSERT_TRUE(memory.ok());
  float next = 1;
  for (int group = 0; group < 2; ++group) {
    for (int layer = 0; layer < 2; ++layer) {
      const KvLayerView view = (*memory)->Layer(group, layer);
      for (int32_t page = 0; page < view.num_pages; ++page) {
        for (int64_t offset = 0; offset < 4; ++offset) {
          for (int64_t i = 0; i < view.row_elements; ++i) {
            ASSERT_EQ(view.Row(page, offset)[i], 0);
            view.Row(page, offset)[i] = next++;
          }
        }
      }
    }
  }
  EXPECT_EQ(next - 1, static_cast<float>((3 + 5) * 4 * 32));
  EXPECT_EQ((*memory)->num_bytes(), *KvMemoryBytes(groups, {}, options));
  EXPECT_GE((*memory)->num_bytes(), 8 * PageBytes(TwoLayers(), 4, DType::kF32));
}

TEST(KvMemoryTest, ClearsTheStateOfOneSlotOnly) {
  const std::vector<RecurrentBlock> blocks = {{.layer_id = 0, .name = "conv", .num_elements = 3},
                                              {.layer_id = 0, .name = "s", .num_elements = 5}};
  auto memory = KvMemory::Create({}, blocks, {.num_pages = {}, .num_state_slots = 2});
  ASSERT_TRUE(memory.ok());
  for (int block = 0; block < 2; ++block) {
    for (int32_t slot = 0; slot < 2; ++slot) {
      for (std::byte& byte : (*memory)->State(block, slot)) {
        byte = std::byte{7};
      }
    }
  }
  (*memory)->ClearState(0);
  EXPECT_EQ((*memory)->State(1, 0)[19], std::byte{0});
  EXPECT_EQ((*memory)->State(1, 1)[0], std::byte{7});
  EXPECT_EQ((*memory)->State(0, 1)[11], std::byte{7});
}

TEST(KvMemoryTest, RefusesSizesOutOfRange) {
  EXPECT_FALSE(KvMemoryBytes({TwoLayers()}, {}, {.page_size_tokens = 0, .num_pages = {1}}).ok());
  EXPECT_FALSE(KvMemoryBytes({TwoLayers()}, {}, {.num_pages = {0}}).ok());
  EXPECT_FALSE(KvMemoryBytes({TwoLayers()}, {}, {.num_pages = {}}).ok());
  EXPECT_EQ(KvMemoryBytes({TwoLayers()}, {}, {.num_pages = {int64_t{1} << 60}}).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ft
