// A model that does not fit the memory it is given still runs, from the checkpoint on disk.
#include <string>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/golden/model_fixture.h"

namespace ft::testing {
namespace {

TEST(ModelMemoryTest, AModelLargerThanItsMemoryRunsByItself) {
  const std::string folder = FT_SOURCE_DIR "/../shared/models/tiny-moe-bf16";
  if (!FileExists(folder + "/model.safetensors")) {
    GTEST_SKIP() << folder << " is not there";
  }
  LoadOptions options = OptionsFor(folder);
  options.moe_backend = "auto";
  options.device = "cpu";
  options.max_batch_tokens = 32;
  options.max_logit_rows = 32;
  options.max_sequences = 1;
  options.num_threads = 2;
  auto roomy = LoadModel(options);
  ASSERT_TRUE(roomy.ok()) << roomy.status().message();
  const uint64_t all_expert_bytes = roomy->expert_bytes;
  uint64_t least = 0;
  for (uint64_t limit = uint64_t{1} << 20; least == 0 && limit < (uint64_t{1} << 26);
       limit += uint64_t{1} << 19) {
    options.memory_limit_bytes = limit;
    auto tight = LoadModel(options);
    if (!tight.ok()) {
      EXPECT_EQ(tight.status().code(), StatusCode::kResourceExhausted);
      continue;
    }
    least = limit;
    EXPECT_LT(tight->expert_bytes, all_expert_bytes);
    EXPECT_LE(tight->expert_bytes + tight->weight_bytes, limit);
  }
  EXPECT_GT(least, 0U);
  EXPECT_LT(least, all_expert_bytes);
}

}  // namespace
}  // namespace ft::testing
