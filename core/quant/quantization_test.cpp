#include "core/quant/quantization.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "core/quant/builtin/float_format.h"

namespace ft {
namespace {

ft_part_info Part(const char* suffix, uint16_t dtype, const std::vector<int64_t>& shape) {
  return {
      {suffix, std::strlen(suffix)}, dtype, 0, static_cast<uint32_t>(shape.size()), shape.data()};
}

// A table like bf16's whose match can be bent.
ft_quantization Bent(
    ft_code (*match)(void*, ft_str, const ft_part_info*, uint32_t, ft_match*, ft_error*) noexcept) {
  ft_quantization table = *BuiltinBf16();
  table.format = {"bent", 4};
  table.match = match;
  return table;
}

TEST(QuantizationRegistryTest, FindsTheBuiltInFormats) {
  QuantizationRegistry registry;
  ASSERT_TRUE(RegisterBuiltinQuantizations(&registry).ok());
  for (const char* name : {"bf16", "f16", "f32"}) {
    ASSERT_NE(registry.Find(name), nullptr);
    EXPECT_EQ(registry.Find(name)->origin(), "built in");
  }
  EXPECT_EQ(registry.Find("q4_0"), nullptr);
}

TEST(QuantizationRegistryTest, NamesBothOriginsOfOneFormat) {
  QuantizationRegistry registry;
  ASSERT_TRUE(RegisterBuiltinQuantizations(&registry).ok());
  const Status status = registry.Add(Quantization(BuiltinBf16(), nullptr, "my-plugin"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("my-plugin"), std::string::npos);
  EXPECT_NE(status.message().find("built in"), std::string::npos);
}

TEST(QuantizationRegistryTest, RefusesTablesThatAreShortMislabelledOrHollow) {
  QuantizationRegistry registry;
  ft_quantization table = *BuiltinBf16();
  table.hdr.size = 0;
  EXPECT_EQ(registry.Add(Quantization(&table, nullptr, "p")).code(), StatusCode::kPluginFault);
  table = *BuiltinBf16();
  table.hdr.tag = FT_TAG_MATCH;
  EXPECT_EQ(registry.Add(Quantization(&table, nullptr, "p")).code(), StatusCode::kPluginFault);
  table = *BuiltinBf16();
  table.expert_mlp = nullptr;
  EXPECT_EQ(registry.Add(Quantization(&table, nullptr, "p")).code(), StatusCode::kPluginFault);
}

TEST(QuantizationRegistryTest, ResolvesByNamesAndTypes) {
  QuantizationRegistry registry;
  ASSERT_TRUE(RegisterBuiltinQuantizations(&registry).ok());
  const std::vector<int64_t> shape = {12, 34};
  const auto found = registry.Resolve("q_proj", {Part(".weight", FT_DTYPE_F16, shape)});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->quantization->format(), "f16");
  EXPECT_EQ(found->match.rows, 12);
  EXPECT_EQ(found->match.cols, 34);
}

TEST(QuantizationRegistryTest, NamesTensorsThatNobodyKnowsAndWhatIsLoaded) {
  QuantizationRegistry registry;
  ASSERT_TRUE(RegisterBuiltinQuantizations(&registry).ok());
  const std::vector<int64_t> shape = {12, 34};
  const auto found = registry.Resolve("layers.3.q_proj", {Part(".qweight", FT_DTYPE_I32, shape)});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kUnimplemented);
  for (const char* part : {"layers.3.q_proj", ".qweight I32", "bf16, f16, f32"}) {
    EXPECT_NE(found.status().message().find(part), std::string::npos) << found.status().message();
  }
}

TEST(QuantizationRegistryTest, IsAnErrorWhenTwoFormatsClaimOneMatrix) {
  static const ft_quantization kGreedy = Bent([](void*, ft_str, const ft_part_info*, uint32_t,
                                                 ft_match* out, ft_error*) noexcept -> ft_code {
    out->verdict = FT_MATCH_YES;
    out->rows = out->cols = 1;
    out->used = 1;
    return FT_OK;
  });
  QuantizationRegistry registry;
  ASSERT_TRUE(RegisterBuiltinQuantizations(&registry).ok());
  ASSERT_TRUE(registry.Add(Quantization(&kGreedy, nullptr, "greedy")).ok());
  const std::vector<int64_t> shape = {1, 1};
  const auto found = registry.Resolve("m", {Part(".weight", FT_DTYPE_BF16, shape)});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kInternal);
  EXPECT_NE(found.status().message().find("greedy"), std::string::npos);
}

TEST(QuantizationTest, AnswersThatMakeNoSenseAreThePluginsFault) {
  static const ft_quantization kLiar = Bent([](void*, ft_str, const ft_part_info*, uint32_t,
                                               ft_match* out, ft_error*) noexcept -> ft_code {
    out->verdict = FT_MATCH_YES;
    out->rows = -5;
    out->used = 1ULL << 40;
    return FT_OK;
  });
  const std::vector<int64_t> shape = {1, 1};
  const auto match =
      Quantization(&kLiar, nullptr, "liar").Match("m", {Part(".weight", FT_DTYPE_BF16, shape)});
  ASSERT_FALSE(match.ok());
  EXPECT_EQ(match.status().code(), StatusCode::kPluginFault);
}

TEST(QuantizationTest, MessagesOfPluginsAreCutAndCleaned) {
  static const ft_quantization kLoud = Bent([](void*, ft_str, const ft_part_info*, uint32_t,
                                               ft_match*, ft_error* error) noexcept -> ft_code {
    std::memset(error->message, 'x', sizeof(error->message));  // no NUL
    error->message[0] = '\x1b';
    return FT_E_INTERNAL;
  });
  const auto match = Quantization(&kLoud, nullptr, "loud").Match("m", {});
  ASSERT_FALSE(match.ok());
  EXPECT_EQ(match.status().message().find('\x1b'), std::string::npos);
  EXPECT_LT(match.status().message().size(), 600U);
}

}  // namespace
}  // namespace ft
