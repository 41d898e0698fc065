#include "core/checkpoint/batch_reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/test_files.h"

namespace ft {
namespace {

using testing::HasSubstr;

std::string Bytes(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return bytes;
}

struct Mode {
  const char* name;
  BatchReaderOptions options;
};

class BatchReaderTest : public testing::TestWithParam<Mode> {
 protected:
  BatchReaderTest() {
    for (size_t size : {100'000U, 12'289U, 5U}) {
      contents_.push_back(Bytes(size, static_cast<unsigned>(size)));
      paths_.push_back(folder_.Write(std::to_string(size), contents_.back()));
    }
    reader_ = BatchReader::Create(paths_, GetParam().options).value();
    RecordProperty("mode", reader_->mode());
  }

  test::TempFolder folder_;
  std::vector<std::string> contents_;
  std::vector<std::string> paths_;
  std::unique_ptr<BatchReader> reader_;
};

TEST_P(BatchReaderTest, FillsScatteredRangesOfSeveralFiles) {
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::vector<std::byte>> outs;
    std::vector<ReadRequest> requests;
    for (int i = 0; i < 100; ++i) {
      const auto file = static_cast<size_t>(random() % 3);
      const size_t offset = random() % contents_[file].size();
      const size_t size = random() % (contents_[file].size() - offset + 1);
      outs.emplace_back(size);
      requests.push_back({static_cast<int>(file), offset, {}});
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].out = outs[i];
    }
    const Status status = reader_->Read(requests);
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::string& content = contents_[static_cast<size_t>(requests[i].file_index)];
      const auto want = std::as_bytes(std::span(content).subspan(requests[i].offset));
      ASSERT_TRUE(std::equal(outs[i].begin(), outs[i].end(), want.begin())) << i;
    }
  }
}

TEST_P(BatchReaderTest, ReadsAlignedRangesInPlace) {
  std::byte* out = static_cast<std::byte*>(std::aligned_alloc(4096, 16384));
  std::fill(out, out + 16384, std::byte{0});
  const ReadRequest request = {0, 8192, {out, 16384}};
  ASSERT_TRUE(reader_->Read({&request, 1}).ok());
  EXPECT_EQ(std::memcmp(out, contents_[0].data() + 8192, 16384), 0);
  std::free(out);
}

TEST_P(BatchReaderTest, AnEmptyBatchAndEmptyRangesAreFine) {
  EXPECT_TRUE(reader_->Read({}).ok());
  const ReadRequest request = {0, 3, {}};
  EXPECT_TRUE(reader_->Read({&request, 1}).ok());
}

TEST_P(BatchReaderTest, NamesAFileThatEndsBeforeAndWorksAfterwards) {
  std::vector<std::byte> out(20 * 300);
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < 20; ++i) {
    requests.push_back({0, 100, std::span(out).subspan(300 * i, 10)});
  }
  requests[7] = {1, 12'000, std::span(out).subspan(300 * 7, 300)};
  const Status status = reader_->Read(requests);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(paths_[1] + ": has 12289 bytes"));
  const ReadRequest beyond = {2, 50'000, std::span(out).first(1)};
  EXPECT_EQ(reader_->Read({&beyond, 1}).code(), StatusCode::kDataLoss);
  const ReadRequest good = {2, 1, std::span(out).first(4)};
  ASSERT_TRUE(reader_->Read({&good, 1}).ok());
  EXPECT_EQ(std::memcmp(out.data(), contents_[2].data() + 1, 4), 0);
}

TEST_P(BatchReaderTest, SeesThatAFileWasCutWhileOpen) {
  std::filesystem::resize_file(paths_[0], 50'000);
  std::vector<std::byte> out(60'000);
  const ReadRequest request = {0, 0, out};
  const Status status = reader_->Read({&request, 1});
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("has 50000 bytes"));
}

INSTANTIATE_TEST_SUITE_P(
    Modes,
    BatchReaderTest,
    testing::Values(Mode{"Default", {}},
                    Mode{"Shallow", {.depth = 1, .chunk_bytes = 4096}},
                    Mode{"UringBuffered", {.depth = 4, .allow_direct = false}},
                    Mode{"UringSmallChunks", {.depth = 3, .chunk_bytes = 8192}},
                    Mode{"PreadDirect", {.depth = 3, .allow_io_uring = false, .chunk_bytes = 8192}},
                    Mode{"PreadOne", {.depth = 1, .allow_direct = false, .allow_io_uring = false}},
                    Mode{"PreadMany",
                         {.allow_direct = false, .allow_io_uring = false, .chunk_bytes = 4096}}),
    [](const testing::TestParamInfo<Mode>& mode) { return std::string(mode.param.name); });

TEST(BatchReaderOptionsTest, RefusesOptionsOutOfRangeAndMissingFiles) {
  EXPECT_EQ(BatchReader::Create({}, {.depth = 0}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(BatchReader::Create({}, {.chunk_bytes = 5000}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(BatchReader::Create({"/no/such/file"}).status().code(), StatusCode::kNotFound);
}

TEST(BatchReaderOptionsTest, SaysWhichModeWasChosen) {
  const test::TempFolder folder;
  const std::string path = folder.Write("a", "x");
  const auto plain =
      BatchReader::Create({path}, {.allow_direct = false, .allow_io_uring = false}).value();
  EXPECT_STREQ(plain->mode(), "pread");
  const auto best = BatchReader::Create({path}).value();
  EXPECT_THAT(std::string(best->mode()),
              testing::AnyOf("io_uring+direct", "io_uring", "pread+direct", "pread"));
  RecordProperty("best_mode", best->mode());
}

}  // namespace
}  // namespace ft
