#include "core/text/tokenize_jsonl.h"

#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::text {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTokenizer = R"json({
  "added_tokens": [{"id": 0, "content": "<s>", "special": true}],
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [0]}}},
  "decoder": {"type": "Fuse"},
  "model": {"type": "BPE", "merges": [], "vocab":
    {"<s>": 0, "a": 1, "\u2028": 2, "\"": 3, "\n": 4}}})json";

class TokenizeJsonlTest : public ::testing::Test {
 protected:
  // The answers; `status_` is the outcome.
  std::string Run(const std::string& lines, const TokenizeJsonlOptions& options = {}) {
    std::istringstream in(lines);
    std::ostringstream out;
    status_ = TokenizeJsonl(*tokenizer_, options, &in, &out);
    return out.str();
  }

  std::unique_ptr<Tokenizer> tokenizer_ = *Tokenizer::FromJson(kTokenizer);
  Status status_;
};

TEST_F(TokenizeJsonlTest, AnswersEachLineInOrder) {
  EXPECT_EQ(Run("{\"text\":\"aa\"}\n{\"text\":\"\",\"name\":1}\n{\"text\":\"a\"}"),
            "{\"ids\":[1,1]}\n{\"ids\":[]}\n{\"ids\":[1]}\n");
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(Run(""), "");
  EXPECT_TRUE(status_.ok());
}

TEST_F(TokenizeJsonlTest, ALineEndsAtTheNewlineOnly) {
  EXPECT_EQ(Run("{\"text\":\"a\u2028a\"}\r\n"), "{\"ids\":[1,2,1]}\n");
  EXPECT_TRUE(status_.ok()) << status_.message();
}

TEST_F(TokenizeJsonlTest, SpecialTokensAreAddedAndSkippedWhenAsked) {
  EXPECT_EQ(Run("{\"text\":\"a\"}\n", {.add_special_tokens = true}), "{\"ids\":[0,1]}\n");
  EXPECT_EQ(Run("{\"ids\":[0,1,3,4,99]}\n", {.decode = true}), "{\"text\":\"<s>a\\\"\\n\"}\n");
  EXPECT_EQ(Run("{\"ids\":[0,1]}\n", {.decode = true, .skip_special_tokens = true}),
            "{\"text\":\"a\"}\n");
}

TEST_F(TokenizeJsonlTest, WhatCannotBeReadOrWrittenIsAnError) {
  struct Unreadable : std::streambuf {
    int_type underflow() override { throw std::ios_base::failure("is a directory"); }
  } unreadable;

  std::istream in(&unreadable);
  std::ostringstream out;
  EXPECT_EQ(TokenizeJsonl(*tokenizer_, {}, &in, &out).code(), StatusCode::kUnavailable);

  struct Full : std::streambuf {
    int sync() override { return -1; }

    std::streamsize xsputn(const char*, std::streamsize n) override { return n; }
  } full;

  std::istringstream line("{\"text\":\"a\"}\n");
  std::ostream to_full(&full);
  EXPECT_EQ(TokenizeJsonl(*tokenizer_, {}, &line, &to_full).code(), StatusCode::kUnavailable);
}

TEST_F(TokenizeJsonlTest, ABadLineIsNamedAndTheOnesBeforeAreAnswered) {
  for (const char* bad : {"nonsense", "", "[]", "{\"ids\":[1]}", "{\"text\":1}", "{\"text\":\"a\"",
                          "{\"text\":\"\xFF\"}"}) {
    EXPECT_EQ(Run("{\"text\":\"a\"}\n" + std::string(bad) + "\n{\"text\":\"a\"}\n"),
              "{\"ids\":[1]}\n");
    EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(status_.message(), HasSubstr("line 2")) << bad;
  }
  for (const char* bad : {"{\"text\":\"a\"}", "{\"ids\":[-1]}", "{\"ids\":[1.5]}",
                          "{\"ids\":[\"1\"]}", "{\"ids\":[99999999999]}"}) {
    EXPECT_EQ(Run(std::string(bad) + "\n", {.decode = true}), "");
    EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(status_.message(), HasSubstr("line 1")) << bad;
  }
}

}  // namespace
}  // namespace ft::text
