// What both ways of batched reading share: the open files, and a batch cut into pieces that fit a
// bounce buffer. Used by batch_reader.cpp and its two backends only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/status.h"
#include "core/checkpoint/batch_reader.h"

namespace ft::internal {

inline constexpr size_t kDirectAlignment = 4096;  ///< of address, offset and length; fits all disks

/// One file, open twice: through the page cache, and past it where that works.
struct ReadFile {
  std::string path;
  FileDescriptor buffered;
  FileDescriptor direct;  ///< not open: this file system has no direct I/O
};

/// Errors: as OpenFile.
Result<std::vector<ReadFile>> OpenReadFiles(const std::vector<std::string>& paths,
                                            bool allow_direct);

/// Part of one request: one system call.
struct ReadPiece {
  const ReadFile* file = nullptr;
  uint64_t offset = 0;  ///< of the first useful byte
  std::byte* out = nullptr;
  size_t num_bytes = 0;  ///< useful bytes
  // The call itself. Direct: aligned, and into the bounce buffer unless it fits in place.
  int fd = -1;
  uint64_t read_offset = 0;
  size_t read_bytes = 0;
  std::byte* read_out = nullptr;
};

/// Walks over a batch; every Next gives a piece of at most `chunk_bytes`.
class PieceCursor {
 public:
  PieceCursor() = default;

  PieceCursor(std::span<const ReadFile> files,
              std::span<const ReadRequest> requests,
              size_t chunk_bytes)
      : files_(files), requests_(requests), chunk_bytes_(chunk_bytes) {}

  /// False at the end. `bounce`: [chunk_bytes], aligned, or null when no file is direct.
  bool Next(std::byte* bounce, ReadPiece* piece);

 private:
  std::span<const ReadFile> files_;
  std::span<const ReadRequest> requests_;
  size_t chunk_bytes_ = 0;
  size_t request_index_ = 0;
  size_t done_bytes_ = 0;  // of the request
};

/// After the call returned `result` (bytes, or −errno): copies from the bounce buffer and reads
/// what is still missing through the page cache. Errors: as BatchReader::Read.
Status FinishPiece(const ReadPiece& piece, int64_t result);

/// Aligned bytes for bounce buffers; null for 0.
struct FreeDeleter {
  void operator()(std::byte* bytes) const;
};

using AlignedBytes = std::unique_ptr<std::byte[], FreeDeleter>;
AlignedBytes AllocateAligned(size_t num_bytes);

/// What the backends are made with.
struct ReaderParts {
  std::vector<ReadFile> files;
  bool is_direct = false;  ///< some file is
  BatchReaderOptions options;
};

/// kUnavailable when the kernel gives no io_uring; `parts` is then unchanged.
Result<std::unique_ptr<BatchReader>> CreateUringReader(ReaderParts* parts);
std::unique_ptr<BatchReader> CreateThreadReader(ReaderParts parts);

}  // namespace ft::internal
