#include "core/base/file.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ft {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = testing::TempDir() + "ft_file_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view content) const {
    const std::string path = JoinPath(folder_, name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_;
};

TEST_F(FileTest, ReadsAWholeFileUpToTheLimit) {
  const std::string path = Write("a", "hello");
  EXPECT_EQ(ReadWholeFile(path, 5).value(), "hello");
  const auto too_long = ReadWholeFile(path, 4);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.status().code(), StatusCode::kResourceExhausted);
}

TEST_F(FileTest, SaysNotFoundForAMissingFileAndRefusesFoldersAndPipes) {
  EXPECT_EQ(OpenFile(JoinPath(folder_, "none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(OpenFile(folder_).status().code(), StatusCode::kInvalidArgument);
  const std::string pipe = JoinPath(folder_, "pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(OpenFile(pipe).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(FileTest, ReadExactlyNamesFileAndByteCountsWhenTheFileEnds) {
  const std::string path = Write("a", "0123456789");
  const FileDescriptor file = OpenFile(path).value();
  std::array<std::byte, 4> out = {};
  ASSERT_TRUE(ReadExactly(file, path, 6, out).ok());
  EXPECT_EQ(out[3], std::byte{'9'});
  const Status status = ReadExactly(file, path, 8, out);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), path + ": has 10 bytes: want 4 bytes from byte 8 on, got 2");
}

TEST_F(FileTest, MapsAFileAndAnEmptyOne) {
  const FileDescriptor file = OpenFile(Write("a", "xyz")).value();
  MappedFile mapped = MappedFile::Map(file, "a").value();
  MappedFile moved = std::move(mapped);
  ASSERT_EQ(moved.bytes().size(), 3U);
  EXPECT_EQ(moved.bytes()[2], std::byte{'z'});
  EXPECT_TRUE(MappedFile::Map(OpenFile(Write("b", "")).value(), "b").value().bytes().empty());
}

TEST_F(FileTest, ReplacesAFileAtomicallyAndLeavesNothingElse) {
  const std::string path = Write("a", "old");
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(ReadWholeFile(path, 100).value(), "new");
  EXPECT_EQ(ListFiles(folder_).value(), std::vector<std::string>{"a"});
  EXPECT_EQ(WriteFileAtomically(JoinPath(folder_, "no/such"), "x").code(), StatusCode::kNotFound);
}

TEST_F(FileTest, WritesToAPipeAndBehindALinkInsteadOfReplacingThem) {
  const std::string pipe = JoinPath(folder_, "pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(WriteFileAtomically(pipe, "new").ok());
  std::array<char, 8> got = {};
  EXPECT_EQ(read(reader.get(), got.data(), got.size()), 3);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));

  const std::string target = Write("target", "old");
  const std::string link = JoinPath(folder_, "link");
  std::filesystem::create_symlink("target", link);
  ASSERT_TRUE(WriteFileAtomically(link, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadWholeFile(target, 10).value(), "new");

  EXPECT_EQ(WriteFileAtomically(folder_, "new").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ListFiles(folder_).value().size(), 2U);  // and nothing is left over
}

TEST_F(FileTest, ListsFilesSortedAndWithoutFolders) {
  Write("b", "");
  Write("a", "");
  std::filesystem::create_directory(JoinPath(folder_, "c"));
  EXPECT_EQ(ListFiles(folder_).value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ListFiles(JoinPath(folder_, "none")).status().code(), StatusCode::kNotFound);
}

TEST(PathTest, JoinsAndTakesTheLastPart) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(BaseName("x/y/"), "y");
  EXPECT_EQ(BaseName("y"), "y");
  EXPECT_EQ(BaseName("/"), "/");
}

TEST(HumanBytesTest, WritesBinaryUnits) {
  EXPECT_EQ(HumanBytes(0), "0 bytes");
  EXPECT_EQ(HumanBytes(1), "1 byte");
  EXPECT_EQ(HumanBytes(1023), "1023 bytes");
  EXPECT_EQ(HumanBytes(1024), "1 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(HumanBytes((uint64_t{1} << 30) - 1), "1 GiB");
  EXPECT_EQ(HumanBytes(~uint64_t{0}), "16 EiB");
}

}  // namespace
}  // namespace ft
