#include "core/models/config_test_util.h"

namespace ft::testing {
namespace {

constexpr std::string_view kBase = R"({
  "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 320, "max_position_embeddings": 512})";

TEST(Qwen3ConfigTest, HasHeadsOf128WhereTheConfigNamesNone) {
  EXPECT_EQ(InfoOf(std::string(kBase)).cache_groups[0].elements_per_token[0], 2 * 2 * 128);
}

TEST(Qwen3ConfigTest, TakesTheNewSpellingOfRope) {
  EXPECT_TRUE(ReadWithFamily(Changed(kBase, R"({"dtype": "bfloat16", "rope_parameters":
      {"rope_theta": 1000000.0, "rope_type": "yarn", "factor": 4.0,
       "original_max_position_embeddings": 128}})"))
                  .ok());
}

}  // namespace
}  // namespace ft::testing
