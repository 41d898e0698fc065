// Files: owned descriptors, whole-file reads with a limit, exact positional reads, read-only
// mappings, writes that appear whole or not at all, paths, and byte counts for people.
// Not for batched expert reads from disk: that is core/checkpoint/batch_reader.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace ft {

/// Owns a file descriptor, or none (-1). Movable.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  explicit FileDescriptor(int fd) : fd_(fd) {}

  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  ~FileDescriptor();

  int get() const { return fd_; }

  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Opens a regular file for reading (O_CLOEXEC). Errors: kNotFound when absent, kInvalidArgument
/// when it is no regular file, kPermissionDenied, else kUnavailable.
Result<FileDescriptor> OpenFile(const std::string& path);

/// Bytes of the open file. `path` is for the message only.
Result<uint64_t> FileBytes(const FileDescriptor& file, const std::string& path);

/// Fills `out` from byte `offset` on; repeats short and interrupted reads. Any thread.
/// Errors: kDataLoss with name and byte counts when the file ends before; `out` is then undefined.
Status ReadExactly(const FileDescriptor& file,
                   const std::string& path,
                   uint64_t offset,
                   std::span<std::byte> out);

/// The whole file. Errors: as OpenFile; kResourceExhausted when it is longer than `max_bytes`.
Result<std::string> ReadWholeFile(const std::string& path, uint64_t max_bytes);

/// Writes a temporary file beside `path`, flushes it to disk and renames it over `path`: readers
/// see the old content or the new one. A link keeps pointing where it does; a device or a pipe is
/// written to, never replaced. Errors: kUnavailable, kPermissionDenied, kInvalidArgument for a
/// folder; `path` unchanged.
Status WriteFileAtomically(const std::string& path, std::string_view content);

/// A whole file mapped read-only. Pages are read when touched. Movable.
class MappedFile {
 public:
  MappedFile() = default;

  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  ~MappedFile();

  /// Errors: kUnavailable. A file of no bytes maps to an empty span. A file that is cut while it is
  /// mapped raises SIGBUS on access: callers map files they trust not to shrink.
  static Result<MappedFile> Map(const FileDescriptor& file, const std::string& path);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// "a/b", with one separator; `b` alone when it is absolute or `a` is empty.
std::string JoinPath(std::string_view a, std::string_view b);

/// The part behind the last '/', of "x/y/" it is "y".
std::string BaseName(std::string_view path);

bool FileExists(const std::string& path);       ///< a regular file (links followed)
bool DirectoryExists(const std::string& path);  ///< a directory (links followed)

/// Names of the regular files in `path` (no folders), sorted. Errors: kNotFound when there is no
/// such folder, kResourceExhausted beyond 100,000 entries.
Result<std::vector<std::string>> ListFiles(const std::string& path);

/// "17 bytes", "1.5 GiB": two digits behind the point at most, binary units.
std::string HumanBytes(uint64_t bytes);

}  // namespace ft
