#include "core/base/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/errors.h"

namespace ft {
namespace {

constexpr size_t kMaxListedEntries = 100'000;

std::string SystemReason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

Status FromErrno(int error, std::string_view what, const std::string& path) {
  const std::string reason = SystemReason(error);
  if (error == ENOENT || error == ENOTDIR) {
    return NotFound("{}: cannot {}: {}", path, what, reason);
  }
  if (error == EACCES || error == EPERM || error == EROFS) {
    return PermissionDenied("{}: cannot {}: {}", path, what, reason);
  }
  return Unavailable("{}: cannot {}: {}", path, what, reason);
}

Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return FromErrno(errno, "write", path);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return Status();
}

bool HasType(const std::string& path, mode_t type) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == type;
}

// The rename is durable only when its folder is flushed too. Best effort: the file itself is whole.
void FlushFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const FileDescriptor fd(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.is_open()) {
    static_cast<void>(fsync(fd.get()));
  }
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// A device or a pipe is written to: a rename would put a file in its place.
Status WriteThrough(const std::string& path, std::string_view content) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) {
    return FromErrno(errno, "open", path);
  }
  return WriteAll(file.get(), content, path);
}

Status ReplaceFile(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) {
    return FromErrno(errno, "create a file beside", path);
  }
  const mode_t mask = umask(0);
  umask(mask);
  Status status = WriteAll(file.get(), content, temporary);
  if (status.ok() && (fchmod(file.get(), 0666U & ~mask) != 0 || fsync(file.get()) != 0)) {
    status = FromErrno(errno, "flush", temporary);
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = FromErrno(errno, "replace", path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  FlushFolderOf(path);
  return Status();
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

Result<FileDescriptor> OpenFile(const std::string& path) {
  // O_NONBLOCK: a FIFO in place of a file must not hang the program; it means nothing for files.
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    return FromErrno(errno, "open", path);
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) {
    return FromErrno(errno, "stat", path);
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument("{}: is {}, not a regular file", path,
                           S_ISDIR(info.st_mode) ? "a folder" : "something else");
  }
  return file;
}

Result<uint64_t> FileBytes(const FileDescriptor& file, const std::string& path) {
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) {
    return FromErrno(errno, "stat", path);
  }
  return static_cast<uint64_t>(info.st_size);
}

Status ReadExactly(const FileDescriptor& file,
                   const std::string& path,
                   uint64_t offset,
                   std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(file.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return FromErrno(errno, "read", path);
    }
    if (got == 0) {
      FT_ASSIGN_OR_RETURN(const uint64_t num_bytes, FileBytes(file, path));
      return DataLoss("{}: has {} bytes: want {} bytes from byte {} on, got {}", path, num_bytes,
                      out.size(), offset, done);
    }
    done += static_cast<size_t>(got);
  }
  return Status();
}

Result<std::string> ReadWholeFile(const std::string& path, uint64_t max_bytes) {
  FT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path));
  FT_ASSIGN_OR_RETURN(const uint64_t num_bytes, FileBytes(file, path));
  if (num_bytes > max_bytes) {
    return ResourceExhausted("{}: {} bytes; ft reads at most {} here", path, num_bytes, max_bytes);
  }
  std::string text(static_cast<size_t>(num_bytes), '\0');
  FT_RETURN_IF_ERROR(ReadExactly(file, path, 0, std::as_writable_bytes(std::span(text))));
  return text;
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return InvalidArgument("{}: is a folder; name a file", path);
  }
  if (exists && !S_ISREG(info.st_mode)) {
    return WriteThrough(path, content);
  }
  // A link stays a link: its target is what is replaced.
  return ReplaceFile(exists ? RealPath(path) : path, content);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    // munmap takes void*; the mapping is read-only and nobody writes through this pointer.
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

Result<MappedFile> MappedFile::Map(const FileDescriptor& file, const std::string& path) {
  FT_ASSIGN_OR_RETURN(const uint64_t num_bytes, FileBytes(file, path));
  MappedFile mapped;
  if (num_bytes == 0) {
    return mapped;
  }
  void* start = mmap(nullptr, static_cast<size_t>(num_bytes), PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) {  // NOLINT: the macro casts
    return Unavailable("{}: cannot map {} bytes: {}", path, num_bytes, SystemReason(errno));
  }
  mapped.bytes_ = {static_cast<const std::byte*>(start), static_cast<size_t>(num_bytes)};
  return mapped;
}

std::string JoinPath(std::string_view a, std::string_view b) {
  if (a.empty() || b.starts_with('/')) {
    return std::string(b);
  }
  std::string joined(a);
  if (!joined.ends_with('/')) {
    joined += '/';
  }
  joined += b;
  return joined;
}

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path.size() == 1 ? path
                                                                         : path.substr(slash + 1));
}

bool FileExists(const std::string& path) {
  return HasType(path, S_IFREG);
}

bool DirectoryExists(const std::string& path) {
  return HasType(path, S_IFDIR);
}

Result<std::vector<std::string>> ListFiles(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  if (error) {
    return FromErrno(error.value(), "list", path);
  }
  std::vector<std::string> names;
  while (entries != std::filesystem::directory_iterator()) {
    std::error_code type_error;
    if (entries->is_regular_file(type_error)) {
      names.push_back(entries->path().filename().string());
    }
    if (names.size() > kMaxListedEntries) {
      return ResourceExhausted("{}: more than {} files", path, kMaxListedEntries);
    }
    entries.increment(error);
    if (error) {
      return FromErrno(error.value(), "list", path);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  }
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::string number = fmt::format("{:.2f}", value);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) {
    number.pop_back();
  }
  return fmt::format("{} {}", number, kUnits[unit]);
}

}  // namespace ft
