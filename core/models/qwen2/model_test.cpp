#include "core/models/config_test_util.h"

namespace ft::testing {
namespace {

constexpr std::string_view kBase = R"({
  "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 320, "max_position_embeddings": 512,
  "use_sliding_window": true, "sliding_window": 16, "max_window_layers": 1})";

TEST(Qwen2ConfigTest, PutsTheWindowOnLaterLayersOnly) {
  const ModelInfo info = InfoOf(std::string(kBase));
  ASSERT_EQ(info.cache_groups.size(), 2U);
  EXPECT_EQ(info.cache_groups[0].window_tokens, 0);
  EXPECT_EQ(info.cache_groups[0].layer_ids, std::vector<int>({0}));
  EXPECT_EQ(info.cache_groups[1].window_tokens, 16);
  EXPECT_EQ(info.cache_groups[1].layer_ids, std::vector<int>({1, 2}));
}

TEST(Qwen2ConfigTest, LetsLayerTypesWin) {
  const ModelInfo info = InfoOf(Changed(kBase, R"({"layer_types":
      ["sliding_attention", "full_attention", "sliding_attention"]})"));
  EXPECT_EQ(info.cache_groups[0].window_tokens, 16);
  EXPECT_EQ(info.cache_groups[0].layer_ids, std::vector<int>({0, 2}));
}

TEST(Qwen2ConfigTest, HasNoWindowUnlessItIsSwitchedOn) {
  EXPECT_EQ(InfoOf(Changed(kBase, R"({"use_sliding_window": false})")).cache_groups.size(), 1U);
  EXPECT_EQ(InfoOf(Changed(kBase, R"({"sliding_window": null})")).cache_groups.size(), 1U);
  const ModelInfo info = InfoOf(Changed(kBase, R"({"sliding_window": "remove"})"));
  EXPECT_EQ(info.cache_groups[1].window_tokens, 4096);
}

TEST(Qwen2ConfigTest, RefusesAListOfLayersThatDoesNotFit) {
  ExpectRefused(Changed(kBase, R"({"layer_types": ["full_attention"]})"),
                StatusCode::kInvalidArgument, "layer_types");
  ExpectRefused(
      Changed(kBase, R"({"layer_types": ["full_attention", "linear_attention", "conv"]})"),
      StatusCode::kUnimplemented, "linear_attention");
}

}  // namespace
}  // namespace ft::testing
