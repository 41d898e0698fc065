// Batched reads with pread: the calling thread and a few helpers, each with one read in flight.
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

#include "core/checkpoint/read_pieces.h"

namespace ft::internal {
namespace {

constexpr int kMaxThreads = 8;  // beyond this, seeks and locks eat what more reads in flight give

class ThreadReader final : public BatchReader {
 public:
  explicit ThreadReader(ReaderParts parts);
  ThreadReader(const ThreadReader&) = delete;
  ThreadReader& operator=(const ThreadReader&) = delete;
  ~ThreadReader() override;

  Status Read(std::span<const ReadRequest> requests) override;

  const char* mode() const override { return is_direct_ ? "pread+direct" : "pread"; }

 private:
  void HelperLoop(size_t index);
  void ReadPieces(size_t index);

  std::vector<ReadFile> files_;
  bool is_direct_;
  size_t chunk_bytes_;
  AlignedBytes bounce_;  // one chunk per thread

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  // All below: under mutex_.
  PieceCursor cursor_;
  Status first_error_;
  uint64_t batch_ = 0;      // counts Reads, so that a helper joins each once
  size_t num_working_ = 0;  // helpers that have not finished the batch
  bool is_closing_ = false;

  std::vector<std::thread> helpers_;  // last: started when all else is there
};

ThreadReader::ThreadReader(ReaderParts parts)
    : files_(std::move(parts.files)),
      is_direct_(parts.is_direct),
      chunk_bytes_(parts.options.chunk_bytes) {
  const auto num_threads = static_cast<size_t>(std::min(parts.options.depth, kMaxThreads));
  bounce_ = AllocateAligned(is_direct_ ? num_threads * chunk_bytes_ : 0);
  for (size_t i = 1; i < num_threads; ++i) {
    helpers_.emplace_back([this, i] { HelperLoop(i); });
  }
}

ThreadReader::~ThreadReader() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  work_.notify_all();
  for (std::thread& helper : helpers_) {
    helper.join();
  }
}

void ThreadReader::HelperLoop(size_t index) {
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this, seen] { return is_closing_ || batch_ != seen; });
      if (is_closing_) {
        return;
      }
      seen = batch_;
    }
    ReadPieces(index);
    const std::lock_guard lock(mutex_);
    if (--num_working_ == 0) {
      idle_.notify_one();
    }
  }
}

void ThreadReader::ReadPieces(size_t index) {
  std::byte* bounce = is_direct_ ? bounce_.get() + index * chunk_bytes_ : nullptr;
  ReadPiece piece;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!first_error_.ok() || !cursor_.Next(bounce, &piece)) {
        return;
      }
    }
    const ssize_t got =
        pread(piece.fd, piece.read_out, piece.read_bytes, static_cast<off_t>(piece.read_offset));
    const Status status = FinishPiece(piece, got < 0 ? -static_cast<int64_t>(errno) : got);
    if (!status.ok()) {
      const std::lock_guard lock(mutex_);
      if (first_error_.ok()) {
        first_error_ = status;
      }
    }
  }
}

Status ThreadReader::Read(std::span<const ReadRequest> requests) {
  {
    const std::lock_guard lock(mutex_);
    cursor_ = PieceCursor(files_, requests, chunk_bytes_);
    first_error_ = Status();
    num_working_ = helpers_.size();
    ++batch_;
  }
  work_.notify_all();
  ReadPieces(0);
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return num_working_ == 0; });
  return first_error_;
}

}  // namespace

std::unique_ptr<BatchReader> CreateThreadReader(ReaderParts parts) {
  return std::make_unique<ThreadReader>(std::move(parts));
}

}  // namespace ft::internal
