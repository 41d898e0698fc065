// Every golden checkpoint: logits as transformers has them, greedy continuations equal, and the
// same bits whatever the chunk, the page size and the place of the experts.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/json/parse.h"
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

// Half of the rows differ by less than this share of the row's largest logit.
double MedianRowDifference(const std::vector<float>& got, const Golden& golden) {
  const auto vocab = static_cast<size_t>(golden.vocab_size);
  std::vector<double> rows;
  for (size_t at = 0; at < golden.logits.size(); at += vocab) {
    double largest = 0;
    double difference = 0;
    for (size_t i = at; i < at + vocab; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(golden.logits[i])));
      difference = std::max(difference, std::abs(static_cast<double>(got[i]) -
                                                 static_cast<double>(golden.logits[i])));
    }
    rows.push_back(difference / largest);
  }
  std::nth_element(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(rows.size() / 2),
                   rows.end());
  return rows[rows.size() / 2];
}

TEST_P(ModelGoldenTest, ServesNoWorseThanTransformersDoesInBf16) {
  const auto facts = json::Parse(*ReadWholeFile(GetParam() + "/golden.json", 1 << 20));
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  const json::Value* median = facts->Find("bf16_median_row_differs_by");
  // Where it was not recorded: what the recorded ones have at least.
  const double bound = median != nullptr ? *median->ToDouble() : 0.009;
  const Golden golden = ReadGolden(GetParam());
  const LogitsResult result =
      Evaluate(OptionsFor(GetParam()), golden, {.compute_mode = FT_COMPUTE_SERVED});
  ASSERT_EQ(result.logits.size(), golden.logits.size());
  const double got = MedianRowDifference(result.logits, golden);
  RecordProperty("median_row_difference", std::to_string(got));
  EXPECT_LE(got, bound);
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
