// Every golden checkpoint: logits as transformers has them, greedy continuations equal, and the
// same bits whatever the chunk, the page size and the place of the experts.
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/plugin_host/plugin_host.h"
#include "tests/golden/model_fixture.h"

namespace ft::testing {
namespace {

class ModelGoldenTest : public ::testing::TestWithParam<std::string> {};

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).filename().string();
  for (char& c : name) {
    c = c == '-' ? '_' : c;
  }
  return name;
}

LogitsResult Evaluate(const LoadOptions& load, const Golden& golden, const EvalOptions& options) {
  auto loaded = LoadModel(load);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  if (!loaded.ok()) {
    return {};
  }
  auto result =
      EvalLogits(&*loaded, golden.input_ids, static_cast<int64_t>(golden.greedy.size()), options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : LogitsResult();
}

TEST_P(ModelGoldenTest, AgreesWithTransformersInExactCompute) {
  const Golden golden = ReadGolden(GetParam());
  const LogitsResult result = Evaluate(OptionsFor(GetParam()), golden, {});
  const double largest = LargestOf(golden.logits);
  EXPECT_LE(LargestDifference(result.logits, golden.logits), 1e-4 * largest);
  EXPECT_EQ(result.greedy, golden.greedy);
}

TEST_P(ModelGoldenTest, GivesTheSameBitsWhereverTheExpertsAre) {
  if (AllPlugins().moe_backends.Find("offload") == nullptr) {
    GTEST_SKIP() << "this build has no plugin with the MoE backend offload";
  }
  const Golden golden = ReadGolden(GetParam());
  LoadOptions load = OptionsFor(GetParam());
  load.moe_backend = "resident";
  const LogitsResult resident = Evaluate(load, golden, {.is_deterministic = true});
  load.moe_backend = "offload";
  for (const char* device : {"cpu", "sim"}) {
    load.device = device;
    for (const int64_t slots : {1, 5, 1000}) {
      load.expert_cache.num_slots = slots;
      const LogitsResult offload = Evaluate(load, golden, {.is_deterministic = true});
      EXPECT_TRUE(offload.logits == resident.logits) << device << " with " << slots << " slots";
      EXPECT_EQ(offload.greedy, resident.greedy);
    }
  }
}

TEST_P(ModelGoldenTest, GivesTheSameBitsForEveryChunkAndPageSize) {
  const Golden golden = ReadGolden(GetParam());
  auto loaded = LoadModel(OptionsFor(GetParam()));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto num_greedy = static_cast<int64_t>(golden.greedy.size());
  LoadOptions threaded = OptionsFor(GetParam());
  threaded.num_threads = 3;
  const LogitsResult with_threads = Evaluate(threaded, golden, {.is_deterministic = true});
  for (const uint32_t mode : {FT_COMPUTE_EXACT, FT_COMPUTE_SERVED}) {
    const auto whole = EvalLogits(&*loaded, golden.input_ids, num_greedy,
                                  {.compute_mode = mode, .is_deterministic = true});
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    if (mode == FT_COMPUTE_EXACT) {
      EXPECT_TRUE(whole->logits == with_threads.logits) << "three threads";
    }
    for (const int64_t chunk : {1, 7, 64, 0}) {
      for (const int64_t page_size : {1, 16, 64}) {
        const auto result = EvalLogits(&*loaded, golden.input_ids, num_greedy,
                                       {.compute_mode = mode,
                                        .chunk_tokens = chunk,
                                        .page_size_tokens = page_size,
                                        .is_deterministic = true});
        ASSERT_TRUE(result.ok()) << result.status().message();
        EXPECT_TRUE(result->logits == whole->logits)
            << "mode " << mode << " chunk " << chunk << " page size " << page_size;
        EXPECT_EQ(result->greedy, whole->greedy);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, ModelGoldenTest, ::testing::ValuesIn(GoldenFolders()), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ModelGoldenTest);

}  // namespace
}  // namespace ft::testing

// The plugin host probes plugins in a child that is this program.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], ft::kPluginProbeCommand) == 0) {
    return ft::RunPluginProbe(argc, argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
