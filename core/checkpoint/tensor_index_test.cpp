#include "core/checkpoint/tensor_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/test_files.h"

namespace ft {
namespace {

using test::SafetensorsBytes;
using test::SafetensorsOf;
using test::TempFolder;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string Index(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string text = R"({"metadata":{"total_size":1},"weight_map":{)";
  for (const auto& [tensor, file] : entries) {
    text += (text.back() == '{' ? "\"" : ",\"") + tensor + "\":\"" + file + "\"";
  }
  return text + "}}";
}

void ExpectFailure(const std::string& path, StatusCode code, const std::string& words) {
  const auto index = TensorIndex::Open(path);
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.status().code(), code) << index.status().message();
  EXPECT_THAT(index.status().message(), HasSubstr(words));
}

// Two shards with odd names: a, b in the first, c in the second (case C13).
class TwoShards : public testing::Test {
 protected:
  TwoShards() {
    first_ = folder_.Write("model.safetensors-00001-of-00002.safetensors",
                           SafetensorsOf({"a", "bb"}, 200));
    second_ =
        folder_.Write("model.safetensors-00002-of-00002.safetensors", SafetensorsOf({"ccc"}, 300));
    WriteIndex({{"a", Base(first_)}, {"bb", Base(first_)}, {"ccc", Base(second_)}});
  }

  static std::string Base(const std::string& path) { return fs::path(path).filename().string(); }

  void WriteIndex(const std::vector<std::pair<std::string, std::string>>& entries) const {
    folder_.Write("model.safetensors.index.json", Index(entries));
  }

  TempFolder folder_;
  std::string first_;
  std::string second_;
};

TEST_F(TwoShards, LoadsWhateverTheShardsAreCalled) {
  const auto index = TensorIndex::Open(folder_.path());
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index.value().tensors().size(), 3U);
  EXPECT_EQ(index.value().files().size(), 2U);
  EXPECT_EQ(index.value().total_bytes(), 700U);
  const TensorView view = index.value().Map("ccc").value();
  EXPECT_EQ(static_cast<const uint8_t*>(view.data)[5], 3 + 5);
  EXPECT_EQ(view.shape, (Shape{300}));
  EXPECT_EQ(index.value().Find("d"), nullptr);
  EXPECT_EQ(index.value().Map("d").status().code(), StatusCode::kDataLoss);
}

TEST_F(TwoShards, ReadsARangeIntoTheCallersMemory) {
  const TensorIndex index = TensorIndex::Open(folder_.path()).value();
  std::array<std::byte, 4> out = {};
  ASSERT_TRUE(index.ReadInto("bb", 10, out).ok());
  EXPECT_EQ(out[3], std::byte{2 + 13});
}

TEST_F(TwoShards, NamesAMissingShardAndWhatIsThere) {
  fs::remove(second_);
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, second_ + ": missing (0 bytes)");
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "1 of 2 shards");
}

TEST_F(TwoShards, NamesAShardThatWasCutAndByHowMuch) {
  const auto size = fs::file_size(second_);
  fs::resize_file(second_, size - 100);
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "100 bytes are missing");
  ExpectFailure(folder_.path(), StatusCode::kDataLoss,
                second_ + " (" + std::to_string(size - 100) + " bytes)");
  fs::resize_file(second_, 20);
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "the file has 20");
  fs::resize_file(second_, 3);
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "3 bytes are too few");
}

TEST_F(TwoShards, NamesATensorThatNoShardHas) {
  WriteIndex(
      {{"a", Base(first_)}, {"bb", Base(first_)}, {"ccc", Base(second_)}, {"d", Base(second_)}});
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "\"d\"");
}

TEST_F(TwoShards, RefusesATensorInTwoShards) {
  folder_.Write(Base(second_), SafetensorsOf({"a"}, 10));
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "\"a\" is in two shards");
}

TEST_F(TwoShards, RefusesAnIndexThatLeavesTheFolderOrIsBroken) {
  WriteIndex({{"a", "../x.safetensors"}});
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "not put into a file of this folder");
  WriteIndex({{"a", "/etc/passwd"}});
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "not put into a file of this folder");
  WriteIndex({});
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "0 shards");
  folder_.Write("model.safetensors.index.json", "{\"weight_map\": {");
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "index.json (16 bytes)");
}

TEST_F(TwoShards, WithoutAnIndexTakesEveryShardAndMissesNone) {
  fs::remove(fs::path(folder_.path()) / "model.safetensors.index.json");
  EXPECT_EQ(TensorIndex::Open(folder_.path()).value().tensors().size(), 3U);
  fs::remove(second_);
  ExpectFailure(folder_.path(), StatusCode::kDataLoss, "1 of 2 shards");
}

TEST(TensorIndexTest, SaysWhatIsWrongWithFoldersWithoutWeights) {
  const TempFolder folder;
  ExpectFailure(folder.path() + "/none", StatusCode::kNotFound, "no such file or folder");
  ExpectFailure(folder.path(), StatusCode::kDataLoss, "holds no weights: 0 files");
  folder.Write("pytorch_model.bin", "x");
  ExpectFailure(folder.path(), StatusCode::kUnimplemented, "pickled");
  folder.Write("m.gguf", "GGUF....");
  ExpectFailure(folder.path(), StatusCode::kUnimplemented, "GGUF");
  ExpectFailure(folder.path() + "/m.gguf", StatusCode::kUnimplemented, "GGUF");
  folder.Write("model.safetensors", SafetensorsOf({"a"}, 1).substr(0, 30));
  ExpectFailure(folder.path(), StatusCode::kDataLoss, "claims");
}

TEST(TensorIndexTest, MapsATensorThatLiesAskewAligned) {
  const TempFolder folder;
  std::string data = "x";
  const float value = 2.5F;
  data.append(reinterpret_cast<const char*>(&value), sizeof(value));
  for (const char* padding : {"", " ", "  ", "   "}) {
    const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})" +
                               std::string(padding);
    folder.Write("model.safetensors", SafetensorsBytes(header, data));
    const TensorIndex index = TensorIndex::Open(folder.path()).value();
    const TensorView view = index.Map("b").value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % 4, 0U);
    EXPECT_EQ(*static_cast<const float*>(view.data), 2.5F);
    EXPECT_EQ(index.Map("b").value().data, view.data);
  }
}

TEST(TensorIndexTest, FindsAllTensorsWithAPrefix) {
  const TempFolder folder;
  folder.Write("x.safetensors", SafetensorsOf({"m.10.w", "m.1.w", "m.1.b", "m.2", "a"}, 4));
  const TensorIndex index = TensorIndex::Open(folder.path()).value();
  ASSERT_EQ(index.WithPrefix("m.1.").size(), 2U);
  EXPECT_EQ(index.WithPrefix("m.1.")[0].name, "m.1.b");
  EXPECT_EQ(index.WithPrefix("m.").size(), 4U);
  EXPECT_TRUE(index.WithPrefix("z").empty());
  EXPECT_EQ(index.WithPrefix("").size(), 5U);
}

TEST(TensorIndexTest, EveryGoldenCheckpointOpensAndItsBytesCanBeRead) {
  const fs::path shared = FT_SOURCE_DIR "/../shared";
  if (!fs::exists(shared / "golden/models")) {
    GTEST_SKIP() << "../shared/golden/models is not here";
  }
  size_t num_folders = 0;
  for (const char* top : {"golden/models", "models"}) {
    for (const auto& folder : fs::directory_iterator(shared / top)) {
      if (!folder.is_directory()) {
        continue;
      }
      ++num_folders;
      const auto index = TensorIndex::Open(folder.path().string());
      ASSERT_TRUE(index.ok()) << index.status().message();
      ASSERT_FALSE(index.value().tensors().empty());
      const auto golden = TensorIndex::Open((folder.path() / "golden.safetensors").string());
      EXPECT_TRUE(golden.ok() || golden.status().code() == StatusCode::kNotFound);
      for (const TensorInfo& tensor : index.value().tensors()) {
        const TensorView view = index.value().Map(tensor);
        ASSERT_EQ(view.num_bytes(), tensor.num_bytes);
        std::vector<std::byte> bytes(tensor.num_bytes);
        ASSERT_TRUE(index.value().ReadInto(tensor, 0, bytes).ok());
        ASSERT_TRUE(
            std::equal(bytes.begin(), bytes.end(), static_cast<const std::byte*>(view.data)))
            << folder.path() << " " << tensor.name;
      }
    }
  }
  EXPECT_GE(num_folders, 67U);
}

}  // namespace
}  // namespace ft
