// The tiny chat models: perplexity as transformers has it, and greedy replies as recorded.
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/json/parse.h"
#include "core/text/tokenizer/tokenizer.h"
#include "tests/golden/model_fixture.h"

namespace ft::testing {
namespace {

constexpr const char* kModels = FT_SOURCE_DIR "/../shared/models";
constexpr size_t kFromByte = 1003854;  // the last tenth of the text, which no model has seen

std::vector<std::string> TinyModels() {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kModels, ignored)) {
    if (entry.is_directory()) {
      folders.push_back(entry.path().string());
    }
  }
  return folders;
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = BaseName(info.param);
  for (char& c : name) {
    c = c == '-' ? '_' : c;
  }
  return name;
}

class TinyModelTest : public ::testing::TestWithParam<std::string> {};

std::vector<int32_t> IdsOf(const json::Value& list) {
  std::vector<int32_t> ids;
  for (const json::Value& id : list.as_array()) {
    ids.push_back(static_cast<int32_t>(*id.ToInt64()));
  }
  return ids;
}

TEST_P(TinyModelTest, HasThePerplexityOfTransformers) {
  auto text = ReadWholeFile(FT_SOURCE_DIR "/../shared/data/tinyshakespeare.txt", 1 << 24);
  if (!text.ok()) {
    GTEST_SKIP() << text.status().message();
  }
  const auto golden = json::Parse(*ReadWholeFile(GetParam() + "/golden.json", 1 << 20));
  ASSERT_TRUE(golden.ok());
  const double want = *golden->Find("perplexity")->ToDouble();
  auto tokenizer = text::Tokenizer::Load(GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto ids = (*tokenizer)->Encode(std::string_view(*text).substr(kFromByte));
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  auto loaded = LoadModel(OptionsFor(GetParam()));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto exact = EvalPerplexity(&*loaded, *ids, 256, {});
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  EXPECT_EQ(exact->num_scored_tokens, *golden->Find("predicted_tokens")->ToInt64());
  EXPECT_NEAR(exact->perplexity, want, 0.001 * want);
}

TEST_P(TinyModelTest, ServesWithTheSamePerplexityWithinAPercent) {
  auto text = ReadWholeFile(FT_SOURCE_DIR "/../shared/data/tinyshakespeare.txt", 1 << 24);
  if (!text.ok()) {
    GTEST_SKIP() << text.status().message();
  }
  auto tokenizer = text::Tokenizer::Load(GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto ids = (*tokenizer)->Encode(std::string_view(*text).substr(kFromByte, 20000));
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  auto loaded = LoadModel(OptionsFor(GetParam()));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto exact = EvalPerplexity(&*loaded, *ids, 256, {.compute_mode = FT_COMPUTE_EXACT});
  const auto served = EvalPerplexity(&*loaded, *ids, 256, {.compute_mode = FT_COMPUTE_SERVED});
  ASSERT_TRUE(exact.ok() && served.ok());
  EXPECT_NEAR(served->perplexity, exact->perplexity, 0.01 * exact->perplexity);
}

TEST_P(TinyModelTest, RepliesAsRecorded) {
  const auto text = ReadWholeFile(GetParam() + "/chats.jsonl", 1 << 24);
  ASSERT_TRUE(text.ok()) << text.status().message();
  auto loaded = LoadModel(OptionsFor(GetParam()));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  int num_chats = 0;
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    const auto chat = json::Parse(std::string_view(*text).substr(begin, end - begin));
    begin = end + 1;
    ASSERT_TRUE(chat.ok()) << chat.status().message();
    if (*chat->Find("smallest_margin")->ToDouble() < 0.01) {
      continue;  // another order of additions may choose otherwise
    }
    const std::vector<int32_t> prompt = IdsOf(*chat->Find("prompt_ids"));
    const std::vector<int32_t> reply = IdsOf(*chat->Find("reply_ids"));
    const auto result = EvalLogits(&*loaded, prompt, static_cast<int64_t>(reply.size()), {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->greedy, std::vector<int64_t>(reply.begin(), reply.end())) << num_chats;
    ++num_chats;
  }
  EXPECT_GT(num_chats, 50);
}

INSTANTIATE_TEST_SUITE_P(TinyModels, TinyModelTest, ::testing::ValuesIn(TinyModels()), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TinyModelTest);

}  // namespace
}  // namespace ft::testing
