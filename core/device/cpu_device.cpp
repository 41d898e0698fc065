#include "core/device/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <sys/sysinfo.h>

#include "core/base/errors.h"
#include "core/base/file.h"

namespace ft {

namespace {

class CpuEvent final : public Event {
 public:
  double passed_us = -1;  // on the device's clock; negative: never recorded
};

uint64_t PhysicalBytes() {
  struct sysinfo info = {};
  if (sysinfo(&info) != 0) {
    return 0;
  }
  return static_cast<uint64_t>(info.totalram) * info.mem_unit;
}

// Addresses are host addresses; there is nothing to look up.
class HostMemory final : public DeviceMemory {
 public:
  void* Resolve(const void* device, uint64_t /*bytes*/) const override {
    return const_cast<void*>(device);  // NOLINT: the kernel knows what it may write
  }
};

class CpuDevice final : public Device {
 public:
  const std::string& name() const override { return name_; }

  DeviceKind kind() const override { return DeviceKind::kCpu; }

  Result<void*> Allocate(uint64_t bytes, uint64_t align) override {
    FT_CHECK(align != 0 && (align & (align - 1)) == 0 && align <= 4096);
    align = std::max<uint64_t>(align, 64);
    void* memory = nullptr;
    if (bytes <= SIZE_MAX - 4096) {
      memory = std::aligned_alloc(align, (std::max<uint64_t>(bytes, 1) + align - 1) & ~(align - 1));
    }
    if (memory == nullptr) {
      return ResourceExhausted("cpu: no memory for {} (the machine has {})", HumanBytes(bytes),
                               HumanBytes(total_bytes()));
    }
    const std::lock_guard lock(mutex_);
    sizes_[memory] = bytes;
    allocated_bytes_ += bytes;
    return memory;
  }

  void Free(void* device) override {
    if (device == nullptr) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      const auto found = sizes_.find(device);
      FT_CHECK(found != sizes_.end());
      allocated_bytes_ -= found->second;
      sizes_.erase(found);
    }
    std::free(device);
  }

  uint64_t allocated_bytes() const override { return allocated_bytes_; }

  uint64_t total_bytes() const override { return PhysicalBytes(); }

  Result<Stream*> CreateStream() override { return new Stream(); }

  void DestroyStream(Stream* stream) override { delete stream; }

  Result<Event*> CreateEvent() override { return new CpuEvent(); }

  void DestroyEvent(Event* event) override { delete event; }

  Status RecordEvent(Event* event, Stream* /*stream*/) override {
    static_cast<CpuEvent*>(event)->passed_us = now_us();
    return Status();
  }

  Status WaitEvent(Stream* /*stream*/, Event* /*event*/) override { return Status(); }

  Status SyncEvent(Event* /*event*/) override { return Status(); }

  Status SyncStream(Stream* /*stream*/) override { return Status(); }

  Result<double> EventTimeUs(const Event* event) const override {
    const double passed_us = static_cast<const CpuEvent*>(event)->passed_us;
    if (passed_us < 0) {
      return FailedPrecondition("cpu: the event was never recorded");
    }
    return passed_us;
  }

  Status CopyAsync(Stream* /*stream*/,
                   void* dst,
                   const void* src,
                   uint64_t bytes,
                   CopyDirection direction) override {
    if (bytes != 0) {
      std::memcpy(dst, src, bytes);
    }
    ++copies_;
    if (direction == CopyDirection::kHostToDevice) {
      bytes_to_device_ += bytes;
    } else if (direction == CopyDirection::kDeviceToHost) {
      bytes_to_host_ += bytes;
    }
    return Status();
  }

  Status Launch(Stream* /*stream*/, const KernelLaunch& launch) override {
    if (launch.arg_bytes > kMaxKernelArgBytes) {
      return InvalidArgument("cpu: {} has {} bytes of arguments, the limit is {}", launch.label,
                             launch.arg_bytes, kMaxKernelArgBytes);
    }
    ++launches_;
    return launch.kernel(memory_, launch.args);
  }

  double now_us() const override {
    const auto since = std::chrono::steady_clock::now() - start_;
    return std::chrono::duration<double, std::micro>(since).count();
  }

  DeviceCounters counters() const override {
    return {bytes_to_device_, bytes_to_host_, copies_, launches_};
  }

 private:
  const std::string name_ = "cpu";
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const HostMemory memory_{};  // clang 14 wants the braces
  std::mutex mutex_;
  std::unordered_map<void*, uint64_t> sizes_;  // guarded by mutex_
  std::atomic<uint64_t> allocated_bytes_{0};
  std::atomic<uint64_t> bytes_to_device_{0};
  std::atomic<uint64_t> bytes_to_host_{0};
  std::atomic<uint64_t> copies_{0};
  std::atomic<uint64_t> launches_{0};
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice() {
  return std::make_unique<CpuDevice>();
}

}  // namespace ft
