// Tokenizer on small files made here: reading and refusing, added tokens, byte fallback, streams.
#include "core/text/tokenizer/tokenizer.h"

#include <array>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.h"
#include "core/json/value.h"
#include "core/json/write.h"
#include "core/text/tokenizer/byte_level.h"

namespace ft::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFallback = R"json({
  "added_tokens": [
    {"id": 0, "content": "<unk>", "special": true},
    {"id": 1, "content": "<s>", "special": true}],
  "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}]},
  "model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true,
    "merges": ["a b", "▁ ab"],
    "vocab": {"<unk>": 0, "<s>": 1, "▁": 2, "a": 3, "b": 4, "ab": 5, "▁ab": 6,
      "<0xE3>": 7, "<0x81>": 8, "<0x82>": 9, "<0xF0>": 10, "<0x9F>": 11, "<0x98>": 12,
      "<0x80>": 13, "<0x41>": 14}}})json";

// A byte-level tokenizer: ids 0..255 are the bytes, then `added_tokens` (a JSON list).
std::string ByteLevelJson(const std::string& added_tokens) {
  std::string json = R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},)"
                     R"("decoder": {"type": "ByteLevel"}, "added_tokens": )" +
                     added_tokens + R"(, "model": {"type": "BPE", "merges": [], "vocab": {)";
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    AppendByteLevel(std::string(1, static_cast<char>(byte)), &letter);
    json += byte == 0 ? "" : ",";
    json::AppendQuoted(letter, &json);
    json += ":" + std::to_string(byte);
  }
  return json + "}}}";
}

std::unique_ptr<Tokenizer> MustLoad(const std::string& json, const std::string& config = "") {
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::FromJson(json, config);
  EXPECT_TRUE(tokenizer.ok()) << (tokenizer.ok() ? "" : tokenizer.status().message());
  return *std::move(tokenizer);
}

// kFallback with the member at the top set to `value`.
Status LoadWith(const char* member, const char* value) {
  json::Value file = *json::Parse(kFallback);
  file.Set(member, *json::Parse(value));
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::FromJson(json::Write(file));
  return tokenizer.ok() ? Status() : tokenizer.status();
}

std::vector<std::string> Pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  StreamDecoder decoder(&tokenizer);
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    pieces.push_back(decoder.Push(id));
  }
  pieces.push_back(decoder.Finish());
  return pieces;
}

TEST(TokenizerTest, MergesAndAddsWhatTheTemplateSays) {
  const auto tokenizer = MustLoad(kFallback);
  EXPECT_THAT(*tokenizer->Encode("ab ab<s>a"), ElementsAre(5, 6, 1, 3));
  EXPECT_THAT(*tokenizer->Encode("", {.add_special_tokens = true}), ElementsAre(1));
  EXPECT_THAT(*tokenizer->Encode(""), IsEmpty());
}

TEST(TokenizerTest, UnknownCharactersBecomeBytesOrOneUnknownToken) {
  const auto tokenizer = MustLoad(kFallback);
  EXPECT_THAT(*tokenizer->Encode("\u3041"), ElementsAre(7, 8, 8));
  EXPECT_THAT(*tokenizer->Encode("zza"), ElementsAre(0, 3));
}

TEST(TokenizerTest, AnswersAboutTokens) {
  const auto tokenizer = MustLoad(kFallback);
  EXPECT_EQ(tokenizer->vocab_size(), 15);
  EXPECT_EQ(tokenizer->TokenId("▁ab"), 6);
  EXPECT_EQ(tokenizer->TokenId(" ab"), std::nullopt);
  EXPECT_EQ(tokenizer->TokenText(6), "▁ab");
  EXPECT_EQ(tokenizer->TokenBytes(6), " ab");
  EXPECT_EQ(tokenizer->TokenBytes(7), "\xE3");
  EXPECT_EQ(tokenizer->TokenBytes(99), "");
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_TRUE(tokenizer->is_added(1));
  EXPECT_FALSE(tokenizer->is_added(6));
  EXPECT_FALSE(tokenizer->is_special(-5));
}

TEST(TokenizerTest, DecodePassesOverUnknownIdsAndSkipsSpecialOnes) {
  const auto tokenizer = MustLoad(kFallback);
  const std::vector<int32_t> ids = {1, 5, 99, -1, 6};
  EXPECT_EQ(tokenizer->Decode(ids), "<s>ab ab");
  EXPECT_EQ(tokenizer->Decode(ids, {.skip_special_tokens = true}), "ab ab");
}

TEST(TokenizerTest, BrokenByteRunsKeepWholeCharactersInStreamsOnly) {
  const auto tokenizer = MustLoad(kFallback);
  const std::vector<int32_t> ids = {7, 8, 9, 7, 3};  // U+3042, a lead byte, "a"
  EXPECT_EQ(tokenizer->Decode(ids), "\uFFFD\uFFFD\uFFFD\uFFFDa");
  EXPECT_THAT(Pieces(*tokenizer, ids), ElementsAre("", "", "\u3042", "", "\uFFFDa", ""));
}

TEST(TokenizerTest, StreamsSendACharacterWithTheIdThatCompletesIt) {
  const auto tokenizer = MustLoad(ByteLevelJson("[]"));
  const std::vector<int32_t> emoji = {0xF0, 0x9F, 0x98, 0x80, 'a', 0xE3, 0x81};
  EXPECT_THAT(Pieces(*tokenizer, emoji),
              ElementsAre("", "", "", "\U0001F600", "a", "", "", "\uFFFD"));
  const std::vector<int32_t> broken = {0xF0, 0x9F, 'x', 0xFF, 0xC3};
  EXPECT_THAT(Pieces(*tokenizer, broken), ElementsAre("", "", "\uFFFDx", "\uFFFD", "", "\uFFFD"));
  EXPECT_EQ(tokenizer->Decode(broken), "\uFFFDx\uFFFD\uFFFD");
}

TEST(TokenizerTest, AStreamStartsAnewAfterFinish) {
  const auto tokenizer = MustLoad(ByteLevelJson("[]"));
  StreamDecoder decoder(tokenizer.get());
  EXPECT_EQ(decoder.Push(0xE3), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD");
  EXPECT_EQ(decoder.Finish(), "");
  EXPECT_EQ(decoder.Push('a'), "a");
}

TEST(TokenizerTest, AddedTokensEatWhiteSpaceAndLookAtTheirNeighbours) {
  const auto tokenizer = MustLoad(ByteLevelJson(
      R"([{"id": 256, "content": "<L>", "lstrip": true, "special": true},
          {"id": 257, "content": "<R>", "rstrip": true, "special": true},
          {"id": 258, "content": "cat", "single_word": true, "normalized": false},
          {"id": 259, "content": "AB", "normalized": false},
          {"id": 260, "content": "ABC", "normalized": false},
          {"id": 261, "content": "BCDE", "normalized": false}])"));
  EXPECT_THAT(*tokenizer->Encode("a \u3000<L> b"), ElementsAre('a', 256, ' ', 'b'));
  EXPECT_THAT(*tokenizer->Encode("<R> \n<L>x"), ElementsAre(257, 256, 'x'));
  EXPECT_THAT(*tokenizer->Encode("cat,cats"), ElementsAre(258, ',', 'c', 'a', 't', 's'));
  EXPECT_THAT(*tokenizer->Encode("ABCDE"), ElementsAre(260, 'D', 'E'));
}

TEST(TokenizerTest, ATokenInEatenWhiteSpaceIsLeftOut) {
  const auto tokenizer = MustLoad(ByteLevelJson(
      R"([{"id": 256, "content": "  ", "lstrip": true, "rstrip": true, "normalized": false}])"));
  EXPECT_THAT(*tokenizer->Encode("a     b"), ElementsAre('a', 256, 'b'));
}

TEST(TokenizerTest, IdsOfAddedTokensFollowTheVocabulary) {
  const auto tokenizer = MustLoad(ByteLevelJson(
      R"([{"id": 400, "content": "<x>", "special": true}, {"id": 9, "content": "a"}])"));
  EXPECT_EQ(tokenizer->TokenId("<x>"), 256);
  EXPECT_EQ(tokenizer->TokenId("a"), 'a');
  EXPECT_TRUE(tokenizer->is_added('a'));
}

TEST(TokenizerTest, TextThatIsNoUtf8OrTooLongIsRefused) {
  const auto tokenizer = MustLoad(kFallback);
  EXPECT_EQ(tokenizer->Encode("a\xFF").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tokenizer->Encode("\xED\xA0\x80").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tokenizer->Encode(std::string(kMaxEncodeBytes + 1, 'a')).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(TokenizerTest, ManyThreadsMayEncodeAtOnce) {
  std::string json = ByteLevelJson(R"([{"id": 256, "content": "<x>", "special": true}])");
  const auto tokenizer = MustLoad(json);
  const std::string text = "some text's 123  words <x> \u00e9\u6f22\n";
  const std::vector<int32_t> ids = *tokenizer->Encode(text);
  std::vector<std::thread> threads;
  std::array<bool, 4> is_equal = {};
  for (bool& equal : is_equal) {
    threads.emplace_back([&] {
      equal = true;
      for (int i = 0; i < 50; ++i) {
        equal = equal && *tokenizer->Encode(text) == ids && tokenizer->Decode(ids) == text;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(is_equal, ::testing::Each(true));
}

TEST(TokenizerTest, PartsThatFtDoesNotKnowAreRefusedByName) {
  const struct {
    const char* member;
    const char* value;
    const char* named;
  } kCases[] = {
      {"normalizer", R"({"type": "Lowercase"})", "normalizer: type \"Lowercase\""},
      {"normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Precompiled"}]})",
       "Precompiled"},
      {"pre_tokenizer", R"({"type": "BertPreTokenizer"})", "pre_tokenizer: type \"BertPre"},
      {"pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]})",
       "Digits behind ByteLevel"},
      {"decoder", R"({"type": "WordPiece"})", "decoder: type \"WordPiece\""},
      {"decoder", R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})",
       "Strip in this place"},
      {"post_processor", R"({"type": "BertProcessing"})", "post_processor: type \"Bert"},
      {"model", R"({"type": "Unigram", "vocab": []})", "model: type \"Unigram\""},
      {"model", R"({"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1})", "dropout"},
      {"model", R"({"type": "BPE", "vocab": {}, "merges": [], "end_of_word_suffix": "</w>"})",
       "end_of_word_suffix"},
  };

  for (const auto& one : kCases) {
    const Status status = LoadWith(one.member, one.value);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << one.value;
    EXPECT_THAT(status.message(), HasSubstr(one.named));
    EXPECT_THAT(status.message(), HasSubstr("tokenizer.json"));
  }
}

TEST(TokenizerTest, BrokenFilesAreDataLossAndSayWhere) {
  const struct {
    const char* member;
    const char* value;
    const char* named;
  } kCases[] = {
      {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})", "merge 0"},
      {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["ab"]})", "merge 0"},
      {"model", R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})", "-1"},
      {"model", R"({"type": "BPE", "vocab": {"a": 999999999999}, "merges": []})", "999999999999"},
      {"model", R"({"type": "BPE", "vocab": [], "merges": []})", "vocab"},
      {"model", R"({"type": "BPE", "vocab": {}, "merges": [], "unk_token": "u"})", "unk_token"},
      {"model", "null", "model"},
      {"added_tokens", R"([{"id": 1}])", "token 0"},
      {"added_tokens", R"({"a": 1})", "added_tokens"},
      {"normalizer", R"({"type": 3})", "type"},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}],
           "special_tokens": {}})",
       "\"x\""},
  };

  for (const auto& one : kCases) {
    const Status status = LoadWith(one.member, one.value);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << one.value << " " << status.message();
    EXPECT_THAT(status.message(), HasSubstr(one.named));
  }
  EXPECT_EQ(Tokenizer::FromJson("{").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(Tokenizer::Load("/nowhere").status().code(), StatusCode::kNotFound);
}

TEST(TokenizerTest, ConfigNamesTokensByTextOrObject) {
  const auto tokenizer =
      MustLoad(kFallback, R"({"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>",
                     "pad_token": null, "add_bos_token": true,
                     "model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(tokenizer->config().bos_token->id, 1);
  EXPECT_EQ(tokenizer->config().eos_token->content, "</s>");
  EXPECT_EQ(tokenizer->config().eos_token->id, std::nullopt);
  EXPECT_FALSE(tokenizer->config().pad_token.has_value());
  EXPECT_TRUE(tokenizer->config().add_bos_token);
  EXPECT_EQ(tokenizer->config().model_max_length, std::nullopt);
}

TEST(TokenizerTest, TheBundledModelsTokenizerGivesBackItsText) {
  const std::string dir = FT_SOURCE_DIR "/examples/models/tiny-moe-nvfp4";
  if (!std::filesystem::exists(dir + "/tokenizer.json")) {
    GTEST_SKIP() << dir << " is not here";
  }
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Load(dir);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const std::string text = "First Citizen:\nBefore we proceed any further, hear me speak. 12 é漢";
  EXPECT_EQ((*tokenizer)->Decode(*(*tokenizer)->Encode(text)), text);
}

}  // namespace
}  // namespace ft::text
