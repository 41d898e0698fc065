#include "core/plugin_host/trust.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace ft {
namespace {

using Fault = std::optional<FileFault>;

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr size_t kMaxPathBytes = 1024;

std::string Reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// Of the running program itself; no owner and mode 0 when that cannot be read.
struct stat StatOfFt() {
  struct stat info = {};
  if (stat("/proc/self/exe", &info) != 0) {
    info.st_uid = geteuid();
  }
  return info;
}

// Root, the user who runs ft, and for built-in files the owner of ft itself.
bool IsTrustedOwner(uid_t owner, PluginSource source) {
  return owner == 0 || owner == geteuid() ||
         (source == PluginSource::kBuiltIn && owner == StatOfFt().st_uid);
}

// May others write? Built-in files may be open to the group that can write ft itself (a build under
// umask 002): it could replace ft just as well.
bool IsOpenToOthers(const struct stat& info, PluginSource source) {
  mode_t open = info.st_mode & kOthersMayWrite;
  if (source == PluginSource::kBuiltIn && open == S_IWGRP) {
    const struct stat program = StatOfFt();
    if (program.st_gid == info.st_gid && (program.st_mode & S_IWGRP) != 0) {
      open = 0;
    }
  }
  return open != 0;
}

Fault CheckFile(const std::string& path, const struct stat& info, PluginSource source) {
  if (!IsTrustedOwner(info.st_uid, source)) {
    return FileFault{"trust.owner",
                     fmt::format("{} belongs to user {}, not to root or to you ({}): "
                                 "chown it, or copy it to a folder of your own",
                                 path, info.st_uid, geteuid())};
  }
  if (IsOpenToOthers(info, source)) {
    return FileFault{"trust.writable",
                     fmt::format("{} (mode {:04o}) can be written by others: chmod go-w {}", path,
                                 info.st_mode & 07777, path)};
  }
  return std::nullopt;
}

// The folder that holds the file must be closed to others. Above it a sticky folder of root (/tmp)
// is let through: nobody else can rename or replace what we own below it.
Fault CheckFolders(const std::string& path, PluginSource source, const std::string& stop_at) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  bool is_nearest = true;
  while (true) {
    struct stat info = {};
    if (stat(folder.c_str(), &info) != 0) {
      return FileFault{"file.unreadable",
                       fmt::format("{}: cannot be looked at: {}", folder.string(), Reason(errno))};
    }
    const bool is_closed_sticky = !is_nearest && (info.st_mode & S_ISVTX) != 0;
    if (!IsTrustedOwner(info.st_uid, source)) {
      return FileFault{"trust.owner",
                       fmt::format("{}: the folder {} belongs to user {}, not to root or to you "
                                   "({}): copy the file to a folder of your own",
                                   path, folder.string(), info.st_uid, geteuid())};
    }
    if (IsOpenToOthers(info, source) && !is_closed_sticky) {
      return FileFault{
          "trust.dir_writable",
          fmt::format("{}: others can write to the folder {} (mode {:04o}): {}copy the "
                      "file to a folder of your own",
                      path, folder.string(), info.st_mode & 07777,
                      (info.st_mode & S_ISVTX) != 0
                          ? std::string()
                          : fmt::format("chmod go-w {}, or ", folder.string()))};
    }
    is_nearest = false;
    if (folder == folder.root_path() || folder == stop_at) {
      return std::nullopt;
    }
    folder = folder.parent_path();
  }
}

Fault Read(const FileDescriptor& file, const std::string& path, uint64_t bytes, std::string* out) {
  if (bytes > kMaxPluginBytes) {
    return FileFault{"file.too_big",
                     fmt::format("{}: {} bytes, at most {}", path, bytes, kMaxPluginBytes)};
  }
  out->resize(bytes);
  const Status status = ReadExactly(file, path, 0, std::as_writable_bytes(std::span(*out)));
  if (!status.ok()) {
    return FileFault{"file.unreadable", status.message()};
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileFault> OpenTrusted(const std::string& path,
                                     PluginSource source,
                                     const std::string& stop_at,
                                     TrustedFile* out) {
  if (path.size() > kMaxPathBytes) {
    return FileFault{"file.path",
                     fmt::format("the path has {} bytes, at most {}", path.size(), kMaxPathBytes)};
  }
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) {
    const int error = errno;
    return FileFault{error == ELOOP ? "trust.symlink" : "file.unreadable",
                     fmt::format("{}: cannot be opened: {}", path, Reason(error))};
  }
  out->path = real.get();
  // O_NONBLOCK: a FIFO must not hang us.
  out->file = FileDescriptor(
      open(out->path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (!out->file.is_open() || fstat(out->file.get(), &info) != 0) {
    const int error = errno;
    // A socket or device cannot be opened, and is no file either.
    const bool is_odd = error == ENXIO || error == ENODEV;
    return FileFault{is_odd ? "file.not_regular" : "file.unreadable",
                     fmt::format("{}: cannot be opened: {}", path, Reason(error))};
  }
  if (!S_ISREG(info.st_mode)) {
    return FileFault{"file.not_regular", fmt::format("{} is no regular file", path)};
  }
  if (Fault fault = Read(out->file, path, static_cast<uint64_t>(info.st_size), &out->content)) {
    return fault;
  }
  struct stat link = {};
  if (source == PluginSource::kEnvironment && lstat(path.c_str(), &link) == 0 &&
      S_ISLNK(link.st_mode)) {
    return FileFault{"trust.symlink",
                     fmt::format("{} is a symbolic link: put the file itself there", path)};
  }
  if (Fault fault = CheckFile(out->path, info, source)) {
    return fault;
  }
  return CheckFolders(out->path, source, stop_at);
}

}  // namespace ft
