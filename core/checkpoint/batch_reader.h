// BatchReader: many scattered ranges of several files into memory, as fast as the machine gives:
// io_uring where the kernel allows it, else threads with pread; past the page cache (O_DIRECT)
// where the file system allows it. For expert fetches from disk; small files use core/base/file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ft {

/// One range. `out` is filled from byte `offset` of the file on.
struct ReadRequest {
  int file_index = 0;  ///< into the paths given to Create
  uint64_t offset = 0;
  std::span<std::byte> out;
};

struct BatchReaderOptions {
  int depth = 32;                ///< reads in flight, 1..1024
  bool allow_direct = true;      ///< false: through the page cache
  bool allow_io_uring = true;    ///< false: pread
  size_t chunk_bytes = 1 << 20;  ///< longer ranges are cut: a multiple of 4096, at most 64 MiB
};

/// Owns its descriptors and, with direct I/O, bounce buffers of depth · chunk_bytes in all: the
/// disk wants aligned addresses, and tensors lie anywhere. A destination, offset and length that
/// are multiples of 4096 are read in place. One Read at a time; Read allocates nothing.
class BatchReader {
 public:
  /// Opens `paths`. Errors: as OpenFile; kInvalidArgument for options out of range.
  static Result<std::unique_ptr<BatchReader>> Create(const std::vector<std::string>& paths,
                                                     const BatchReaderOptions& options = {});

  virtual ~BatchReader() = default;

  /// Fills every request; returns when all bytes are there. The ranges may overlap in the file,
  /// not in memory. Requires: file_index is valid.
  /// Errors: kDataLoss with file and byte counts when a file ends before; kUnavailable with the
  /// system's reason. What the destinations hold is then undefined; nothing is in flight any more.
  virtual Status Read(std::span<const ReadRequest> requests) = 0;

  /// What was chosen: "io_uring+direct", "io_uring", "pread+direct", "pread". Static lifetime.
  virtual const char* mode() const = 0;
};

}  // namespace ft
