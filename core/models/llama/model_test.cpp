#include "core/models/config_test_util.h"

namespace ft::testing {
namespace {

constexpr std::string_view kBase = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 320, "rms_norm_eps": 1e-6,
  "max_position_embeddings": 512, "rope_theta": 10000.0, "hidden_act": "silu"})";

TEST(LlamaConfigTest, KeepsOneGroupOfFullAttention) {
  const ModelInfo info = InfoOf(std::string(kBase));
  EXPECT_EQ(info.family, "llama");
  EXPECT_EQ(info.num_layers, 3);
  EXPECT_EQ(info.num_moe_layers, 0);
  EXPECT_EQ(info.vocab_size, 320);
  EXPECT_EQ(info.max_positions, 512);
  ASSERT_EQ(info.cache_groups.size(), 1U);
  EXPECT_EQ(info.cache_groups[0].window_tokens, 0);
  EXPECT_EQ(info.cache_groups[0].elements_per_token, std::vector<int64_t>(3, 2 * 2 * 16));
}

TEST(LlamaConfigTest, TakesAsManyKvHeadsAsHeadsWhereTheConfigNamesNone) {
  const ModelInfo info = InfoOf(Changed(kBase, R"({"num_key_value_heads": "remove"})"));
  EXPECT_EQ(info.cache_groups[0].elements_per_token[0], 2 * 4 * 16);
}

TEST(LlamaConfigTest, TakesAHeadDimThatIsNotHiddenOverHeads) {
  const ModelInfo info = InfoOf(Changed(kBase, R"({"head_dim": 20})"));
  EXPECT_EQ(info.cache_groups[0].elements_per_token[0], 2 * 2 * 20);
}

TEST(LlamaConfigTest, UnderstandsEveryRopeKind) {
  for (const char* rope :
       {R"({"type": "linear", "factor": 2.0})", R"({"rope_type": "dynamic", "factor": 4.0})",
        R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128})",
        R"({"rope_type": "default"})"}) {
    const std::string changes = std::string(R"({"rope_scaling": )") + rope + "}";
    EXPECT_TRUE(ReadWithFamily(Changed(kBase, changes)).ok()) << rope;
  }
}

TEST(LlamaConfigTest, RefusesWhatChangesNumbersByName) {
  ExpectRefused(Changed(kBase, R"({"hidden_act": "quick_gelu"})"), StatusCode::kUnimplemented,
                "quick_gelu");
  ExpectRefused(Changed(kBase, R"({"rope_scaling": {"rope_type": "spiral", "factor": 2}})"),
                StatusCode::kUnimplemented, "spiral");
  ExpectRefused(Changed(kBase, R"({"attn_logit_softcapping": 50.0})"), StatusCode::kUnimplemented,
                "attn_logit_softcapping");
  ExpectRefused(Changed(kBase, R"({"layer_types": ["full_attention", "full_attention",
      "sliding_attention"]})"),
                StatusCode::kUnimplemented, "layer_types[2]");
  ExpectRefused(Changed(kBase, R"({"residual_multiplier": 0.5})"), StatusCode::kUnimplemented,
                "residual_multiplier");
}

TEST(LlamaConfigTest, RefusesImpossibleSizes) {
  ExpectRefused(Changed(kBase, R"({"num_attention_heads": 3})"), StatusCode::kInvalidArgument,
                "num_attention_heads");
  ExpectRefused(Changed(kBase, R"({"num_hidden_layers": 2000000000})"),
                StatusCode::kInvalidArgument, "layers");
  ExpectRefused(Changed(kBase, R"({"hidden_size": "remove"})"), StatusCode::kInvalidArgument,
                "hidden_size");
  ExpectRefused(Changed(kBase, R"({"head_dim": 15})"), StatusCode::kInvalidArgument, "15");
}

TEST(LlamaConfigTest, IgnoresWhatTransformersIgnores) {
  EXPECT_TRUE(ReadWithFamily(Changed(kBase, R"({"pretraining_tp": 4, "use_cache": false,
      "attention_dropout": 0.1, "torch_dtype": "float16", "_name_or_path": "x",
      "some_future_key": null})"))
                  .ok());
}

}  // namespace
}  // namespace ft::testing
