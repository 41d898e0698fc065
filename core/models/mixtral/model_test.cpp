#include "core/models/config_test_util.h"

namespace ft::testing {
namespace {

constexpr std::string_view kBase = R"({
  "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": null, "vocab_size": 320, "max_position_embeddings": 512,
  "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": null,
  "router_jitter_noise": 0.1})";

TEST(MixtralConfigTest, HasExpertsOnEveryLayerUnderTheirOwnNames) {
  const auto builder = ReadWithFamily(std::string(kBase));
  ASSERT_TRUE(builder.ok()) << builder.status().message();
  ASSERT_EQ((*builder)->moe_layers().size(), 2U);
  const MoeLayerSpec& spec = (*builder)->moe_layers()[1];
  EXPECT_EQ(spec.names.prefix, "model.layers.1.block_sparse_moe.experts");
  EXPECT_EQ(spec.names.gate, "w1");
  EXPECT_EQ(spec.names.up, "w3");
  EXPECT_EQ(spec.names.down, "w2");
  EXPECT_EQ(spec.kind.intermediate_dim, 96);
}

TEST(MixtralConfigTest, PutsAWindowOnAllLayersWhereThereIsOne) {
  EXPECT_EQ(InfoOf(std::string(kBase)).cache_groups[0].window_tokens, 0);
  EXPECT_EQ(InfoOf(Changed(kBase, R"({"sliding_window": 20})")).cache_groups[0].window_tokens, 20);
}

}  // namespace
}  // namespace ft::testing
