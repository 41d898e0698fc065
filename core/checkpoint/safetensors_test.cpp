#include "core/checkpoint/safetensors.h"

#include <array>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft {
namespace {

using testing::HasSubstr;

Result<SafetensorsHeader> Parse(const std::string& header, uint64_t data_bytes) {
  return ParseSafetensorsHeader(header, 8 + header.size() + data_bytes, "x.safetensors");
}

void ExpectDataLoss(const std::string& header, uint64_t data_bytes, const std::string& words) {
  const auto result = Parse(header, data_bytes);
  ASSERT_FALSE(result.ok()) << header;
  EXPECT_EQ(result.status().code(), StatusCode::kDataLoss) << result.status().message();
  EXPECT_THAT(result.status().message(), HasSubstr("x.safetensors"));
  EXPECT_THAT(result.status().message(), HasSubstr(words));
}

std::array<std::byte, 8> LengthField(uint64_t length) {
  std::array<std::byte, 8> bytes = {};
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>((length >> (8 * i)) & 0xFFU);
  }
  return bytes;
}

TEST(SafetensorsTest, ReadsTensorsInOrderOfTheirBytesWithFileOffsets) {
  const std::string header =
      R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},)"
      R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
      R"("scalar":{"dtype":"U8","shape":[],"data_offsets":[12,13]}}   )";
  const auto parsed = Parse(header, 13);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const auto& tensors = parsed.value().tensors;
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].offset, 8 + header.size());
  EXPECT_EQ(tensors[0].shape, (Shape{1, 2}));
  EXPECT_EQ(tensors[1].name, "empty");
  EXPECT_EQ(tensors[2].name, "b");
  EXPECT_EQ(tensors[2].dtype, DType::kF32);
  EXPECT_EQ(tensors[3].num_bytes, 1U);
  EXPECT_EQ(parsed.value().metadata.front().second, "pt");
}

TEST(SafetensorsTest, RefusesHeadersThatAreNoTableOfTensors) {
  ExpectDataLoss("[]", 0, "array");
  ExpectDataLoss("{", 0, "");
  ExpectDataLoss(R"({"a":1})", 0, "lacks");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[1]}})", 1, "lacks");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, "shape");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "extent");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "extent");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "pair");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1, "range");
  ExpectDataLoss(R"({"__metadata__":{"a":1}})", 0, "__metadata__");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2, "twice");
}

TEST(SafetensorsTest, RefusesRangesThatDoNotFitShapeFileOrEachOther) {
  ExpectDataLoss(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}})", 7,
                 "takes 8 bytes, its data_offsets span 7");
  ExpectDataLoss(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 5,
                 "3 bytes are missing");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 5, "3 too many");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                 3, "overlap");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
                 5, "gap");
}

TEST(SafetensorsTest, RefusesShapesThatOverflow) {
  const std::string huge = "4611686018427387904";
  ExpectDataLoss(
      R"({"a":{"dtype":"F32","shape":[)" + huge + "," + huge + R"(],"data_offsets":[0,0]}})", 0,
      "absurdly large");
  ExpectDataLoss(
      R"({"a":{"dtype":"F32","shape":[0,)" + huge + "," + huge + R"(],"data_offsets":[0,0]}})", 0,
      "absurdly large");
  ExpectDataLoss(R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,0]}})", 0,
                 "extent");
  ExpectDataLoss(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
                 R"("data_offsets":[0,1]}})",
                 1, "shape");
}

TEST(SafetensorsTest, RefusesAnUnknownDtypeByName) {
  const auto result = Parse(R"({"a":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}})", 3);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(result.status().message(), HasSubstr("F6_E3M2"));
}

TEST(SafetensorsTest, RefusesAHeaderLongerThanItsFileOrTheFormatsLimit) {
  EXPECT_EQ(SafetensorsHeaderBytes(LengthField(92), 100, "x").value(), 92U);
  const auto longer = SafetensorsHeaderBytes(LengthField(93), 100, "x");
  EXPECT_EQ(longer.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(longer.status().message(), HasSubstr("claims 93 bytes, the file has 100"));
  EXPECT_FALSE(SafetensorsHeaderBytes(LengthField(~uint64_t{0}), 100, "x").ok());
  EXPECT_FALSE(SafetensorsHeaderBytes(LengthField(100'000'001), 200'000'000, "x").ok());
}

TEST(SafetensorsTest, RefusesGgufByName) {
  std::array<std::byte, 8> start = {};
  std::memcpy(start.data(), "GGUF", 4);
  const auto result = SafetensorsHeaderBytes(start, 1000, "m.gguf");
  EXPECT_EQ(result.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(result.status().message(), HasSubstr("GGUF"));
}

}  // namespace
}  // namespace ft
