#include <string>

#include <gtest/gtest.h>

#include "core/json/parse.h"
#include "core/json/write.h"

namespace ft::json {
namespace {

TEST(JsonTest, NumbersKeepTheirWrittenForm) {
  const std::string text = R"({"a":1.0,"b":123456789012345678901234567890,"c":-0.0,"d":1e-07})";
  const Result<Value> value = Parse(text);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(Write(*value), text);
  EXPECT_FALSE(value->Find("b")->ToInt64().has_value());
  EXPECT_EQ(value->Find("a")->ToInt64(), 1);
}

TEST(JsonTest, RefusesWithLineAndColumn) {
  EXPECT_NE(Parse("{\"a\":1,\n \"a\":2}").status().message().find("twice"), std::string::npos);
  EXPECT_NE(Parse("{\"a\":1,\n x}").status().message().find("line 2"), std::string::npos);
  EXPECT_FALSE(Parse("{} {}").ok());
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("\"\xFF\"").ok());
  EXPECT_FALSE(Parse("NaN").ok());
}

TEST(JsonTest, RefusesZeroBytesBehindTheDocumentAndHalfSurrogates) {
  EXPECT_FALSE(Parse(std::string_view("1\0", 2)).ok());
  EXPECT_FALSE(Parse(std::string_view("[]\0garbage", 10)).ok());
  for (const char* text :
       {R"("\ude00")", R"("\ud83d")", R"("\ud83dx")", R"({"\udfff":1})", R"("\ud47d\ude00")"}) {
    EXPECT_FALSE(Parse(text).ok()) << text;
  }
  EXPECT_TRUE(Parse(R"("\ud83d\ude00 \ud47d")").ok());
}

TEST(JsonTest, TheLastOfSeveralKeysWinsInItsFirstPlaceWhenAsked) {
  ParseOptions options;
  options.duplicate_keys = ParseOptions::DuplicateKeys::kLastWins;
  std::string text = R"({"a":1,"b":2,"a":3)";
  for (int i = 0; i < 100; ++i) {
    text += ",\"k" + std::to_string(i % 50) + "\":" + std::to_string(i);
  }
  const Value value = Parse(text + "}", options).value();
  EXPECT_EQ(value.as_object().size(), 52U);
  EXPECT_EQ(value.as_object()[0].value.ToInt64(), 3);
  EXPECT_EQ(value.Find("k7")->ToInt64(), 57);
}

TEST(JsonTest, DepthIsLimitedWithoutUsingTheStack) {
  EXPECT_TRUE(Parse(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_FALSE(Parse(std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_FALSE(Parse(std::string(1 << 20, '[')).ok());
}

TEST(JsonTest, DuplicateKeysAreFoundInLargeObjectsToo) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) {
    text += "\"k" + std::to_string(i) + "\":0,";
  }
  EXPECT_TRUE(Parse(text + "\"z\":0}").ok());
  EXPECT_FALSE(Parse(text + "\"k7\":0}").ok());
  ParseOptions options;
  options.duplicate_keys = ParseOptions::DuplicateKeys::kLastWins;
  EXPECT_EQ(Parse(text + "\"k7\":5}", options)->Find("k7")->ToInt64(), 5);
}

TEST(JsonTest, WritesEscapesAndSurrogates) {
  EXPECT_EQ(Write(Value("a\"\n\x01\xF0\x9F\x98\x80"), {.ascii_only = true}),
            "\"a\\\"\\n\\u0001\\ud83d\\ude00\"");
  EXPECT_EQ(Write(Value(1.5)), "1.5");
  EXPECT_EQ(Write(Value(3.0)), "3.0");
}

}  // namespace
}  // namespace ft::json
