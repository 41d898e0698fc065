#include "core/checkpoint/quant_config.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/module_pattern.h"
#include "core/json/parse.h"

namespace ft {
namespace {

using testing::HasSubstr;

bool Matches(const char* pattern, const char* module) {
  return ModulePattern::Compile(pattern).value().Matches(module).value();
}

QuantConfig Quant(std::string_view text) {
  const json::Value value = json::Parse(text).value();
  return ParseQuantConfig(&value).value();
}

TEST(ModulePatternTest, NamesMeanThemselvesTheirChildrenAndEnds) {
  EXPECT_TRUE(Matches("lm_head", "lm_head"));
  EXPECT_TRUE(Matches("model.layers.0", "model.layers.0.mlp.gate"));
  EXPECT_FALSE(Matches("model.layers.1", "model.layers.10.mlp.gate"));
  EXPECT_TRUE(Matches("mlp.gate", "model.layers.0.mlp.gate"));
  EXPECT_FALSE(Matches("gate", "model.layers.0.mlp.moe_gate"));
  EXPECT_FALSE(Matches("", "lm_head"));
}

TEST(ModulePatternTest, WildcardsCoverTheNameOrAParent) {
  EXPECT_TRUE(Matches("model.layers.*.self_attn*", "model.layers.3.self_attn.q_proj"));
  EXPECT_TRUE(Matches("model.layers.*.self_attn", "model.layers.3.self_attn.q_proj"));
  EXPECT_FALSE(Matches("model.layers.*.mlp.gate", "model.layers.3.mlp.gate_proj"));
  EXPECT_TRUE(Matches("model.layers.1.mlp.*_proj", "model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(Matches("*a", "b"));
  EXPECT_TRUE(Matches("*", "anything"));
}

TEST(ModulePatternTest, RegularExpressionsMatchFromTheStartLikePythons) {
  EXPECT_TRUE(Matches("re:.*self_attn\\.(q|k|v|o)_proj$", "model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(Matches("re:self_attn", "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(Matches("re:model", "model.layers.0"));  // re.match needs no full match
  EXPECT_TRUE(Matches("re:^(?!.*mlp).*gate", "model.layers.0.gate"));
  EXPECT_FALSE(Matches("re:^(?!.*mlp).*gate", "model.layers.0.mlp.gate"));
}

TEST(ModulePatternTest, RefusesBrokenAndEndlessExpressions) {
  EXPECT_EQ(ModulePattern::Compile("re:(").status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ModulePattern::Compile("re:(").status().message(), HasSubstr("does not compile"));
  EXPECT_FALSE(ModulePattern::Compile("re:(*UTF)a").ok());
  EXPECT_FALSE(ModulePattern::Compile("re:" + std::string(5000, 'a')).ok());
  const auto endless = ModulePattern::Compile("re:(a+)+(b+)+$").value();
  const auto result = endless.Matches(std::string(60, 'a') + "c" + std::string(60, 'b'));
  EXPECT_TRUE(!result.ok() || !result.value());
  const auto slow =
      ModulePattern::Compile("re:(x+x+)+y").value().Matches(std::string(40, 'x') + "zy");
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.status().code(), StatusCode::kResourceExhausted);
}

TEST(QuantConfigTest, ReadsGroupsOfCompressedTensorsAndTakesTheMoreSpecificTarget) {
  const QuantConfig quant = Quant(R"({"quant_method":"compressed-tensors","format":"mixed",
      "ignore":["lm_head","re:.*mlp\\.gate$"],"config_groups":{
      "group_0":{"targets":["Linear"],"weights":{"type":"float","num_bits":4,"group_size":16,
                 "strategy":"tensor_group"},"format":"nvfp4-pack-quantized"},
      "group_1":{"targets":["re:.*self_attn.*"],"weights":{"type":"float","num_bits":8,
                 "strategy":"channel","group_size":null}},
      "group_2":{"targets":["model.layers.7.mlp.up_proj"],"weights":{"type":"int","num_bits":4,
                 "strategy":"group","group_size":32}}}})");
  ASSERT_EQ(quant.groups.size(), 3U);
  EXPECT_EQ(quant.groups[0].spelling, "nvfp4-pack-quantized");
  EXPECT_EQ(quant.groups[1].spelling, "mixed");
  const QuantMatcher matcher = QuantMatcher::Create(quant).value();
  EXPECT_EQ(matcher.GroupOf("lm_head").value(), nullptr);
  EXPECT_EQ(matcher.GroupOf("model.layers.0.mlp.gate").value(), nullptr);
  EXPECT_EQ(matcher.GroupOf("model.layers.0.mlp.up_proj").value()->format, QuantFormat::kNvfp4);
  EXPECT_EQ(matcher.GroupOf("model.layers.0.self_attn.q_proj").value()->format,
            QuantFormat::kFp8Channel);
  const QuantGroup* unknown = matcher.GroupOf("model.layers.7.mlp.up_proj").value();
  ASSERT_NE(unknown, nullptr);
  EXPECT_FALSE(unknown->format.has_value());
}

TEST(QuantConfigTest, ReadsTheOtherMethods) {
  EXPECT_EQ(Quant(R"({"quant_method":"fp8","weight_block_size":[128,128]})").groups[0].format,
            QuantFormat::kFp8Block);
  EXPECT_EQ(Quant(R"({"quant_method":"fp8"})").groups[0].format, QuantFormat::kFp8Tensor);
  EXPECT_EQ(Quant(R"({"quant_method":"mxfp4"})").groups[0].format, QuantFormat::kMxfp4);
  EXPECT_EQ(Quant(R"({"quant_method":"modelopt","quant_algo":"FP8"})").groups[0].format,
            QuantFormat::kFp8Tensor);
  const QuantConfig gptq = Quant(R"({"quant_method":"gptq","bits":4})");
  EXPECT_EQ(gptq.method, "gptq");
  EXPECT_FALSE(gptq.groups[0].format.has_value());
  EXPECT_FALSE(ParseQuantConfig(nullptr).value().is_quantized());
}

TEST(QuantConfigTest, ReadsMixedPrecisionOfModelOptPerLayer) {
  const json::Value value = json::Parse(R"({"quantization":{"quant_algo":"MIXED_PRECISION",
      "kv_cache_quant_algo":"FP8","quantized_layers":{
      "model.layers.0.mlp.experts":{"quant_algo":"W4A16_NVFP4","group_size":16},
      "model.layers.0.self_attn.q_proj":{"quant_algo":"FP8"}}}})")
                                .value();
  const QuantConfig quant = ParseHfQuantConfig(value).value();
  EXPECT_EQ(quant.kv_cache_algo, "FP8");
  const QuantMatcher matcher = QuantMatcher::Create(quant).value();
  EXPECT_EQ(matcher.GroupOf("model.layers.0.mlp.experts.3.up_proj").value()->format,
            QuantFormat::kNvfp4);
  EXPECT_EQ(matcher.GroupOf("model.layers.0.self_attn.q_proj").value()->format,
            QuantFormat::kFp8Tensor);
  EXPECT_EQ(matcher.GroupOf("model.layers.0.self_attn.k_proj").value(), nullptr);
}

TEST(QuantConfigTest, NamesWrongKinds) {
  const json::Value text = json::Parse(R"({"quant_method":"compressed-tensors",
      "config_groups":{"group_0":7}})")
                               .value();
  EXPECT_THAT(ParseQuantConfig(&text).status().message(), HasSubstr("group_0"));
  const json::Value number(3);
  EXPECT_THAT(ParseQuantConfig(&number).status().message(), HasSubstr("quantization_config"));
  EXPECT_FALSE(ParseHfQuantConfig(number).ok());
}

}  // namespace
}  // namespace ft
