// Batched reads through io_uring: one thread keeps `depth` reads in flight.
#include <cerrno>
#include <system_error>
#include <utility>

#include <liburing.h>

#include "core/base/errors.h"
#include "core/checkpoint/read_pieces.h"

namespace ft::internal {
namespace {

class UringReader final : public BatchReader {
 public:
  UringReader() = default;
  UringReader(const UringReader&) = delete;
  UringReader& operator=(const UringReader&) = delete;

  ~UringReader() override {
    if (has_ring_) {
      io_uring_queue_exit(&ring_);
    }
  }

  /// Takes the files out of `parts` on success.
  Status Init(ReaderParts* parts);

  Status Read(std::span<const ReadRequest> requests) override;

  const char* mode() const override { return is_direct_ ? "io_uring+direct" : "io_uring"; }

 private:
  struct Slot {
    ReadPiece piece;
    std::byte* bounce = nullptr;
  };

  Status ProbeRing();
  void FillQueue(PieceCursor* cursor);
  Status SubmitAndWait();
  void Reap(Status* first_error);

  io_uring ring_ = {};
  bool has_ring_ = false;
  bool is_direct_ = false;
  size_t chunk_bytes_ = 0;
  std::vector<ReadFile> files_;
  AlignedBytes bounce_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  size_t num_prepared_ = 0;   // in the queue, the kernel has not taken them
  size_t num_in_flight_ = 0;  // the kernel owns their memory
};

std::string Reason(int negative_errno) {
  return std::error_code(-negative_errno, std::generic_category()).message();
}

Status UringReader::Init(ReaderParts* parts) {
  const auto depth = static_cast<unsigned>(parts->options.depth);
  const int error = io_uring_queue_init(depth, &ring_, 0);
  if (error < 0) {
    return Unavailable("io_uring: {}", Reason(error));
  }
  has_ring_ = true;
  FT_RETURN_IF_ERROR(ProbeRing());
  is_direct_ = parts->is_direct;
  chunk_bytes_ = parts->options.chunk_bytes;
  files_ = std::move(parts->files);
  bounce_ = AllocateAligned(is_direct_ ? depth * chunk_bytes_ : 0);
  slots_.resize(depth);
  free_slots_.reserve(depth);
  for (uint32_t i = 0; i < depth; ++i) {
    slots_[i].bounce = is_direct_ ? bounce_.get() + i * chunk_bytes_ : nullptr;
    free_slots_.push_back(depth - 1 - i);
  }
  return Status();
}

// A sandbox may allow the set-up and refuse the work; kernels before 5.6 lack the read operation.
Status UringReader::ProbeRing() {
  io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
  const bool can_read = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  io_uring_free_probe(probe);
  if (!can_read) {
    return Unavailable("io_uring: this kernel has no read operation");
  }
  io_uring_prep_nop(io_uring_get_sqe(&ring_));
  io_uring_cqe* cqe = nullptr;
  const int submitted = io_uring_submit_and_wait(&ring_, 1);
  if (submitted != 1 || io_uring_peek_cqe(&ring_, &cqe) != 0 || cqe->res < 0) {
    return Unavailable("io_uring: a first operation failed");
  }
  io_uring_cqe_seen(&ring_, cqe);
  return Status();
}

void UringReader::FillQueue(PieceCursor* cursor) {
  while (!free_slots_.empty()) {
    const uint32_t index = free_slots_.back();
    Slot& slot = slots_[index];
    if (!cursor->Next(slot.bounce, &slot.piece)) {
      return;
    }
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    FT_CHECK(sqe != nullptr);  // as many entries as slots
    io_uring_prep_read(sqe, slot.piece.fd, slot.piece.read_out,
                       static_cast<unsigned>(slot.piece.read_bytes), slot.piece.read_offset);
    io_uring_sqe_set_data64(sqe, index);
    free_slots_.pop_back();
    ++num_prepared_;
  }
}

Status UringReader::SubmitAndWait() {
  const int submitted = io_uring_submit_and_wait(&ring_, 1);
  if (submitted >= 0) {
    num_prepared_ -= static_cast<size_t>(submitted);
    num_in_flight_ += static_cast<size_t>(submitted);
    return Status();
  }
  if (submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY) {
    return Status();
  }
  return Unavailable("io_uring: cannot submit reads: {}", Reason(submitted));
}

void UringReader::Reap(Status* first_error) {
  io_uring_cqe* cqe = nullptr;
  while (num_in_flight_ > 0 && io_uring_peek_cqe(&ring_, &cqe) == 0) {
    const auto index = static_cast<uint32_t>(io_uring_cqe_get_data64(cqe));
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    --num_in_flight_;
    const Status status = FinishPiece(slots_[index].piece, result);
    if (!status.ok() && first_error->ok()) {
      *first_error = status;
    }
    free_slots_.push_back(index);
  }
}

Status UringReader::Read(std::span<const ReadRequest> requests) {
  PieceCursor cursor(files_, requests, chunk_bytes_);
  Status first_error;
  while (true) {
    if (first_error.ok()) {
      FillQueue(&cursor);
    }
    if (num_prepared_ + num_in_flight_ == 0) {
      return first_error;
    }
    // After an error the loop goes on only until the kernel owns no memory of the caller.
    FT_RETURN_IF_ERROR(SubmitAndWait());
    Reap(&first_error);
  }
}

}  // namespace

Result<std::unique_ptr<BatchReader>> CreateUringReader(ReaderParts* parts) {
  auto reader = std::make_unique<UringReader>();
  FT_RETURN_IF_ERROR(reader->Init(parts));
  return std::unique_ptr<BatchReader>(std::move(reader));
}

}  // namespace ft::internal
