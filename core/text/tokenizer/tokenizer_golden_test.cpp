// Every golden tokenizer: ids, decoded text, streams and long texts, all equal to the library's.
// The small set in tests/golden/tokenizers is in the tree; the large one is read when it is there.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.h"
#include "core/json/write.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::text {
namespace {

namespace fs = std::filesystem;

std::vector<json::Value> ReadLines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<json::Value> lines;
  for (std::string line; std::getline(file, line);) {
    Result<json::Value> value = json::Parse(line);
    EXPECT_TRUE(value.ok()) << path;
    if (value.ok()) {
      lines.push_back(*std::move(value));
    }
  }
  return lines;
}

std::vector<int32_t> Ids(const json::Value& line, const char* key) {
  std::vector<int32_t> ids;
  for (const json::Value& id : line.Find(key)->as_array()) {
    ids.push_back(static_cast<int32_t>(id.ToInt64().value()));
  }
  return ids;
}

std::string Text(const json::Value& line, const char* key) {
  return line.Find(key)->as_string();
}

uint32_t Crc32(const std::vector<int32_t>& ids) {
  uint32_t crc = 0xFFFFFFFF;
  for (const int32_t id : ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      crc ^= (static_cast<uint32_t>(id) >> shift) & 0xFF;
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
      }
    }
  }
  return ~crc;
}

void CheckCases(const Tokenizer& tokenizer, const fs::path& folder) {
  for (const json::Value& line : ReadLines(folder / "cases.jsonl")) {
    const std::string text = Text(line, "text");
    const std::vector<int32_t> ids = Ids(line, "ids");
    const std::vector<int32_t> ids_special = Ids(line, "ids_special");
    EXPECT_EQ(*tokenizer.Encode(text), ids) << json::Write(line);
    EXPECT_EQ(*tokenizer.Encode(text, {.add_special_tokens = true}), ids_special)
        << json::Write(line);
    EXPECT_EQ(tokenizer.Decode(ids), Text(line, "decoded")) << json::Write(line);
    EXPECT_EQ(tokenizer.Decode(ids_special, {.skip_special_tokens = true}),
              Text(line, "decoded_skip_special"))
        << json::Write(line);
  }
}

std::vector<std::string> Stream(const Tokenizer& tokenizer,
                                const std::vector<int32_t>& ids,
                                const DecodeOptions& options) {
  StreamDecoder decoder(&tokenizer, options);
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    pieces.push_back(decoder.Push(id));
  }
  pieces.push_back(decoder.Finish());
  return pieces;
}

std::string Join(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) {
    text += piece;
  }
  return text;
}

void CheckStreams(const Tokenizer& tokenizer, const fs::path& folder) {
  for (const json::Value& line : ReadLines(folder / "stream.jsonl")) {
    const std::vector<int32_t> ids = Ids(line, "ids");
    EXPECT_EQ(tokenizer.Decode(ids), Text(line, "text")) << json::Write(line);
    EXPECT_EQ(tokenizer.Decode(ids, {.skip_special_tokens = true}), Text(line, "text_skip_special"))
        << json::Write(line);
    if (const json::Value* golden = line.Find("pieces")) {
      std::vector<std::string> pieces;
      for (const json::Value& piece : golden->as_array()) {
        pieces.push_back(piece.as_string());
      }
      EXPECT_EQ(Stream(tokenizer, ids, {}), pieces) << json::Write(line);
      EXPECT_EQ(Join(Stream(tokenizer, ids, {.skip_special_tokens = true})),
                Text(line, "text_skip_special"))
          << json::Write(line);
    }
  }
}

void CheckLongTexts(const Tokenizer& tokenizer, const fs::path& folder) {
  for (const json::Value& line : ReadLines(folder / "long.jsonl")) {
    std::string text;
    for (const json::Value& part : line.Find("parts")->as_array()) {
      for (int64_t i = part.as_array()[1].ToInt64().value(); i > 0; --i) {
        text += part.as_array()[0].as_string();
      }
    }
    const std::vector<int32_t> ids = *tokenizer.Encode(text);
    ASSERT_EQ(static_cast<int64_t>(ids.size()), line.Find("count")->ToInt64()) << json::Write(line);
    EXPECT_EQ(Crc32(ids), line.Find("crc32")->ToInt64()) << json::Write(line);
  }
}

void CheckFolder(const fs::path& folder) {
  SCOPED_TRACE(folder.filename().string());
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Load(folder.string());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  CheckCases(**tokenizer, folder);
  CheckStreams(**tokenizer, folder);
  CheckLongTexts(**tokenizer, folder);
}

int CheckFoldersIn(const fs::path& root) {
  int num_folders = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (fs::exists(entry.path() / "tokenizer.json")) {
      CheckFolder(entry.path());
      ++num_folders;
    }
  }
  return num_folders;
}

TEST(TokenizerGoldenTest, SmallSetOfTheTreeIsEqual) {
  EXPECT_GE(CheckFoldersIn(FT_SOURCE_DIR "/tests/golden/tokenizers"), 2);
}

TEST(TokenizerGoldenTest, EveryPublishedStructureIsEqual) {
  const fs::path root = FT_SOURCE_DIR "/../shared/golden/tokenizers";
  if (!fs::exists(root)) {
    GTEST_SKIP() << root << " is not here";
  }
  EXPECT_GE(CheckFoldersIn(root), 14);
}

}  // namespace
}  // namespace ft::text
