#include "core/device/sim_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/base/errors.h"
#include "core/device/sim_arena.h"

namespace ft {
namespace {

class SimStream;

class SimEvent final : public Event {
 public:
  SimStream* stream = nullptr;  // where it was last recorded
  uint64_t recorded = 0;        // how often RecordEvent was called
  uint64_t passed = 0;          // the last of these that its stream has run
  double passed_us = 0;
};

// The arguments are only as long as the kernel's.
struct Work {  // NOLINT(cppcoreguidelines-pro-type-member-init)
  enum class Kind {
    kCopy,
    kKernel,
    kRecord,
    kWait
  };
  Kind kind = Kind::kCopy;
  double issued_us = 0;  // the host's clock: nothing starts before it was asked for
  // kCopy
  void* dst = nullptr;
  const void* src = nullptr;
  uint64_t bytes = 0;
  CopyDirection direction = CopyDirection::kHostToDevice;
  // kKernel
  KernelLaunch launch;
  alignas(16) std::array<std::byte, kMaxKernelArgBytes> args;
  // kRecord, kWait
  SimEvent* event = nullptr;
  uint64_t ticket = 0;  // event->recorded at the call
};

// A ring of queued work.
class SimStream final : public Stream {
 public:
  explicit SimStream(size_t max_queued) : ring_(max_queued) {}

  bool is_empty() const { return begin_ == end_; }

  bool is_full() const { return end_ - begin_ == ring_.size(); }

  Work& Push() { return ring_[end_++ % ring_.size()]; }

  Work& front() { return ring_[begin_ % ring_.size()]; }

  void Pop() { ++begin_; }

  double clock_us = 0;

 private:
  std::vector<Work> ring_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

class SimDevice final : public Device {
 public:
  SimDevice(const SimDeviceOptions& options, std::unique_ptr<SimArena> arena)
      : options_(options), name_("sim:" + options.preset), arena_(std::move(arena)) {}

  const std::string& name() const override { return name_; }

  DeviceKind kind() const override { return DeviceKind::kSim; }

  Result<void*> Allocate(uint64_t bytes, uint64_t align) override {
    return arena_->Allocate(bytes, align);
  }

  void Free(void* device) override { arena_->Free(device); }

  uint64_t allocated_bytes() const override { return arena_->allocated_bytes(); }

  uint64_t total_bytes() const override { return arena_->total_bytes(); }

  Result<Stream*> CreateStream() override { return new SimStream(options_.max_queued); }

  void DestroyStream(Stream* stream) override {
    if (stream != nullptr) {
      RunAll(static_cast<SimStream*>(stream));
      delete stream;
    }
  }

  Result<Event*> CreateEvent() override { return new SimEvent(); }

  void DestroyEvent(Event* event) override {
    if (event != nullptr) {
      auto* sim_event = static_cast<SimEvent*>(event);
      RunUntil(sim_event, sim_event->recorded);  // its record may still be queued
      delete event;
    }
  }

  Status RecordEvent(Event* event, Stream* stream) override {
    auto* sim_event = static_cast<SimEvent*>(event);
    Work& work = Push(stream, Work::Kind::kRecord);
    sim_event->stream = static_cast<SimStream*>(stream);
    work.event = sim_event;
    work.ticket = ++sim_event->recorded;
    return Status();
  }

  Status WaitEvent(Stream* stream, Event* event) override {
    auto* sim_event = static_cast<SimEvent*>(event);
    Work& work = Push(stream, Work::Kind::kWait);
    work.event = sim_event;
    work.ticket = sim_event->recorded;
    return Status();
  }

  Status SyncEvent(Event* event) override {
    auto* sim_event = static_cast<SimEvent*>(event);
    RunUntil(sim_event, sim_event->recorded);
    host_us_ = std::max(host_us_.load(), sim_event->passed_us);
    return TakeFailure();
  }

  Status SyncStream(Stream* stream) override {
    auto* sim_stream = static_cast<SimStream*>(stream);
    RunAll(sim_stream);
    host_us_ = std::max(host_us_.load(), sim_stream->clock_us);
    return TakeFailure();
  }

  Result<double> EventTimeUs(const Event* event) const override {
    const auto* sim_event = static_cast<const SimEvent*>(event);
    if (sim_event->recorded == 0) {
      return FailedPrecondition("{}: the event was never recorded", name_);
    }
    if (sim_event->passed != sim_event->recorded) {
      return Unavailable("{}: the event was not passed yet", name_);
    }
    return sim_event->passed_us;
  }

  Status CopyAsync(Stream* stream,
                   void* dst,
                   const void* src,
                   uint64_t bytes,
                   CopyDirection direction) override {
    const bool to_device = direction != CopyDirection::kDeviceToHost;
    const bool from_device = direction != CopyDirection::kHostToDevice;
    if (!IsValidSide(dst, bytes, to_device) || !IsValidSide(src, bytes, from_device)) {
      return InvalidArgument("{}: a copy of {} bytes from {} to {} leaves allocated {} memory",
                             name_, bytes, src, dst, to_device ? "device" : "host");
    }
    Work& work = Push(stream, Work::Kind::kCopy);
    work.dst = dst;
    work.src = src;
    work.bytes = bytes;
    work.direction = direction;
    ++copies_;
    return Status();
  }

  Status Launch(Stream* stream, const KernelLaunch& launch) override {
    if (launch.arg_bytes > kMaxKernelArgBytes) {
      return InvalidArgument("{}: {} has {} bytes of arguments, the limit is {}", name_,
                             launch.label, launch.arg_bytes, kMaxKernelArgBytes);
    }
    Work& work = Push(stream, Work::Kind::kKernel);
    work.launch = launch;
    if (launch.arg_bytes != 0) {
      std::memcpy(work.args.data(), launch.args, launch.arg_bytes);
    }
    ++launches_;
    return Status();
  }

  double now_us() const override { return host_us_; }

  DeviceCounters counters() const override {
    return {bytes_to_device_, bytes_to_host_, copies_, launches_};
  }

 private:
  Work& Push(Stream* stream, Work::Kind kind) {
    auto* sim_stream = static_cast<SimStream*>(stream);
    if (sim_stream->is_full()) {
      RunAll(sim_stream);
    }
    Work& work = sim_stream->Push();
    work.kind = kind;
    work.issued_us = host_us_;
    return work;
  }

  bool IsValidSide(const void* address, uint64_t bytes, bool is_device) const {
    return is_device ? arena_->Resolve(address, bytes) != nullptr : !arena_->Contains(address);
  }

  void RunAll(SimStream* stream) {
    while (!stream->is_empty()) {
      RunFront(stream);
    }
  }

  // A wait was issued after the record that it waits for, so the streams cannot wait in a circle,
  // and no stream is entered twice on the way down.
  void RunUntil(SimEvent* event, uint64_t ticket) {
    while (event->passed < ticket) {
      RunFront(event->stream);
    }
  }

  void RunFront(SimStream* stream) {
    Work& work = stream->front();
    stream->clock_us = std::max(stream->clock_us, work.issued_us);
    switch (work.kind) {
      case Work::Kind::kCopy:
        Copy(stream, work);
        break;
      case Work::Kind::kKernel: {
        stream->clock_us += options_.launch_us + work.launch.cost_us;
        Status status = work.launch.kernel(*arena_, work.args.data());
        if (!status.ok() && failure_.ok()) {
          failure_ = std::move(status);
        }
        break;
      }
      case Work::Kind::kRecord:
        work.event->passed = work.ticket;
        work.event->passed_us = stream->clock_us;
        break;
      case Work::Kind::kWait:
        RunUntil(work.event, work.ticket);
        stream->clock_us = std::max(stream->clock_us, work.event->passed_us);
        break;
    }
    stream->Pop();
  }

  void Copy(SimStream* stream, const Work& work) {
    const bool to_host = work.direction == CopyDirection::kDeviceToHost;
    const bool is_on_link = work.direction != CopyDirection::kDeviceToDevice;
    void* dst = to_host ? work.dst : arena_->Resolve(work.dst, work.bytes);
    const void* src = work.direction == CopyDirection::kHostToDevice
                          ? work.src
                          : arena_->Resolve(work.src, work.bytes);
    if (dst == nullptr || src == nullptr) {
      if (failure_.ok()) {
        failure_ = InvalidArgument("{}: device memory was freed under a queued copy", name_);
      }
      return;
    }
    std::memcpy(dst, src, work.bytes);
    double duration_us = options_.launch_us;
    if (is_on_link) {
      duration_us = options_.copy_latency_us +
                    static_cast<double>(work.bytes) / (options_.copy_gb_per_s * 1e3);
      double& engine_us = engine_free_us_[to_host ? 1 : 0];
      stream->clock_us = std::max(stream->clock_us, engine_us);
      engine_us = stream->clock_us + duration_us;
      (to_host ? bytes_to_host_ : bytes_to_device_) += work.bytes;
    }
    stream->clock_us += duration_us;
  }

  Status TakeFailure() { return std::exchange(failure_, Status()); }

  const SimDeviceOptions options_;
  const std::string name_;
  const std::unique_ptr<SimArena> arena_;
  Status failure_;                             // the first since the last sync
  std::array<double, 2> engine_free_us_ = {};  // to the device, to the host
  std::atomic<double> host_us_{0};
  std::atomic<uint64_t> bytes_to_device_{0};
  std::atomic<uint64_t> bytes_to_host_{0};
  std::atomic<uint64_t> copies_{0};
  std::atomic<uint64_t> launches_{0};
};

}  // namespace

Result<std::unique_ptr<Device>> MakeSimDevice(const SimDeviceOptions& options) {
  if (options.arena_bytes == 0 || !(options.copy_gb_per_s > 0) || !(options.copy_latency_us >= 0) ||
      !(options.launch_us >= 0) || options.max_queued == 0) {
    return InvalidArgument(
        "sim: wants an arena ({} bytes), a bandwidth ({} GB/s) and a queue ({}) "
        "above 0, and latencies ({}, {} us) not below",
        options.arena_bytes, options.copy_gb_per_s, options.max_queued, options.copy_latency_us,
        options.launch_us);
  }
  FT_ASSIGN_OR_RETURN(auto arena, SimArena::Create(options.arena_bytes));
  return std::unique_ptr<Device>(std::make_unique<SimDevice>(options, std::move(arena)));
}

}  // namespace ft
