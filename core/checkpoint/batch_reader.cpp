#include "core/checkpoint/batch_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/errors.h"
#include "core/checkpoint/read_pieces.h"

namespace ft {
namespace internal {
namespace {

bool IsAligned(uint64_t value) {
  return value % kDirectAlignment == 0;
}

// A file system may take the flag and refuse the read, so one read is tried.
FileDescriptor OpenDirect(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!file.is_open()) {
    return FileDescriptor();
  }
  const AlignedBytes probe = AllocateAligned(kDirectAlignment);
  const ssize_t got = pread(file.get(), probe.get(), kDirectAlignment, 0);
  return got >= 0 ? std::move(file) : FileDescriptor();
}

}  // namespace

void FreeDeleter::operator()(std::byte* bytes) const {
  std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): from aligned_alloc
}

AlignedBytes AllocateAligned(size_t num_bytes) {
  if (num_bytes == 0) {
    return nullptr;
  }
  void* bytes = std::aligned_alloc(kDirectAlignment, num_bytes);
  FT_CHECK(bytes != nullptr);
  return AlignedBytes(static_cast<std::byte*>(bytes));
}

Result<std::vector<ReadFile>> OpenReadFiles(const std::vector<std::string>& paths,
                                            bool allow_direct) {
  std::vector<ReadFile> files;
  for (const std::string& path : paths) {
    ReadFile file;
    file.path = path;
    FT_ASSIGN_OR_RETURN(file.buffered, OpenFile(path));
    if (allow_direct) {
      file.direct = OpenDirect(path);
    }
    files.push_back(std::move(file));
  }
  return files;
}

bool PieceCursor::Next(std::byte* bounce, ReadPiece* piece) {
  while (request_index_ < requests_.size() && done_bytes_ == requests_[request_index_].out.size()) {
    ++request_index_;
    done_bytes_ = 0;
  }
  if (request_index_ == requests_.size()) {
    return false;
  }
  const ReadRequest& request = requests_[request_index_];
  FT_CHECK(request.file_index >= 0 && static_cast<size_t>(request.file_index) < files_.size());
  piece->file = &files_[static_cast<size_t>(request.file_index)];
  piece->offset = request.offset + done_bytes_;
  piece->out = request.out.data() + done_bytes_;
  const size_t lead = static_cast<size_t>(piece->offset % kDirectAlignment);
  // Pieces end on aligned offsets, so that with its lead each fits one bounce buffer.
  piece->num_bytes = std::min(request.out.size() - done_bytes_, chunk_bytes_ - lead);
  done_bytes_ += piece->num_bytes;
  if (!piece->file->direct.is_open()) {
    piece->fd = piece->file->buffered.get();
    piece->read_offset = piece->offset;
    piece->read_bytes = piece->num_bytes;
    piece->read_out = piece->out;
    return true;
  }
  const bool fits_in_place = lead == 0 && IsAligned(piece->num_bytes) &&
                             IsAligned(reinterpret_cast<uintptr_t>(piece->out));
  piece->fd = piece->file->direct.get();
  piece->read_offset = piece->offset - lead;
  piece->read_bytes =
      (lead + piece->num_bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
  piece->read_out = fits_in_place ? piece->out : bounce;
  return true;
}

Status FinishPiece(const ReadPiece& piece, int64_t result) {
  const bool can_retry = result == -EINTR || result == -EAGAIN || result == -EINVAL;
  if (result < 0 && !can_retry) {
    return Unavailable(
        "{}: cannot read {} bytes at {}: {}", piece.file->path, piece.num_bytes, piece.offset,
        std::error_code(static_cast<int>(-result), std::generic_category()).message());
  }
  const auto lead = static_cast<size_t>(piece.offset - piece.read_offset);
  const size_t got = result < 0 ? 0 : static_cast<size_t>(result);
  const size_t useful = std::min(got > lead ? got - lead : 0, piece.num_bytes);
  if (useful > 0 && piece.read_out != piece.out) {
    std::memcpy(piece.out, piece.read_out + lead, useful);
  }
  if (useful == piece.num_bytes) {
    return Status();
  }
  // Rare: a short or refused read, or the file ends here, which this names with byte counts.
  return ReadExactly(piece.file->buffered, piece.file->path, piece.offset + useful,
                     {piece.out + useful, piece.num_bytes - useful});
}

}  // namespace internal

Result<std::unique_ptr<BatchReader>> BatchReader::Create(const std::vector<std::string>& paths,
                                                         const BatchReaderOptions& options) {
  constexpr size_t kMaxChunkBytes = size_t{64} << 20;
  if (options.depth < 1 || options.depth > 1024) {
    return InvalidArgument("depth {}: want 1 to 1024 reads in flight", options.depth);
  }
  if (options.chunk_bytes == 0 || options.chunk_bytes % internal::kDirectAlignment != 0 ||
      options.chunk_bytes > kMaxChunkBytes) {
    return InvalidArgument("chunk_bytes {}: want a multiple of {} up to {}", options.chunk_bytes,
                           internal::kDirectAlignment, kMaxChunkBytes);
  }
  internal::ReaderParts parts;
  parts.options = options;
  FT_ASSIGN_OR_RETURN(parts.files, internal::OpenReadFiles(paths, options.allow_direct));
  parts.is_direct =
      std::any_of(parts.files.begin(), parts.files.end(),
                  [](const internal::ReadFile& file) { return file.direct.is_open(); });
  if (options.allow_io_uring) {
    Result<std::unique_ptr<BatchReader>> reader = internal::CreateUringReader(&parts);
    if (reader.ok()) {
      return reader;
    }
  }
  return internal::CreateThreadReader(std::move(parts));
}

}  // namespace ft
