#include "core/models/config_test_util.h"

namespace ft::testing {
namespace {

constexpr std::string_view kBase = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 64,
  "intermediate_size": 96, "moe_intermediate_size": 48, "num_hidden_layers": 4,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 320,
  "max_position_embeddings": 512, "num_experts": 8, "num_experts_per_tok": 2,
  "norm_topk_prob": true, "max_window_layers": 2})";

std::vector<int> MoeLayersOf(const std::string& config) {
  const auto builder = ReadWithFamily(config);
  EXPECT_TRUE(builder.ok()) << (builder.ok() ? "" : builder.status().message());
  std::vector<int> layers;
  if (builder.ok()) {
    for (const MoeLayerSpec& spec : (*builder)->moe_layers()) {
      layers.push_back(spec.layer_id);
    }
  }
  return layers;
}

TEST(Qwen3MoeConfigTest, ReadsBothSpellingsOfTheNumberOfExperts) {
  EXPECT_EQ(InfoOf(std::string(kBase)).num_experts, 8);
  EXPECT_EQ(
      InfoOf(Changed(kBase, R"({"num_experts": "remove", "num_local_experts": 8})")).num_experts,
      8);
  ExpectRefused(Changed(kBase, R"({"num_local_experts": 16})"), StatusCode::kInvalidArgument,
                "num_local_experts");
}

TEST(Qwen3MoeConfigTest, LeavesLayersDenseAsTwoKeysSay) {
  EXPECT_EQ(MoeLayersOf(std::string(kBase)), std::vector<int>({0, 1, 2, 3}));
  EXPECT_EQ(MoeLayersOf(Changed(kBase, R"({"mlp_only_layers": [0, 2]})")),
            std::vector<int>({1, 3}));
  EXPECT_EQ(MoeLayersOf(Changed(kBase, R"({"decoder_sparse_step": 2})")), std::vector<int>({1, 3}));
  EXPECT_EQ(MoeLayersOf(Changed(kBase, R"({"num_experts": 0})")), std::vector<int>());
}

TEST(Qwen3MoeConfigTest, PutsTheWindowOnAllLayers) {
  const ModelInfo info =
      InfoOf(Changed(kBase, R"({"use_sliding_window": true, "sliding_window": 20})"));
  ASSERT_EQ(info.cache_groups.size(), 1U);
  EXPECT_EQ(info.cache_groups[0].window_tokens, 20);
}

TEST(Qwen3MoeConfigTest, RefusesMoreExpertsPerTokenThanThereAre) {
  ExpectRefused(Changed(kBase, R"({"num_experts_per_tok": 9})"), StatusCode::kInvalidArgument, "9");
}

TEST(Qwen3MoeConfigTest, RefusesASharedExpertByName) {
  ExpectRefused(Changed(kBase, R"({"shared_expert_intermediate_size": 48})"),
                StatusCode::kUnimplemented, "shared_expert_intermediate_size");
}

}  // namespace
}  // namespace ft::testing
