// Device: where expert weights may live and kernels run: memory, streams, events, copies, launches.
// `cpu` is the host itself; `sim` is an accelerator made of host memory (sim_device.h). Knows no
// experts and no formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ft {

enum class DeviceKind : uint32_t {
  kCpu = 1,  ///< the values are FT_DEVICE_* of the plugin ABI
  kSim = 2,
};

enum class CopyDirection : uint32_t {
  kHostToDevice = 1,  ///< the values are FT_COPY_*
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
};

/// Made by a Device, opaque to everyone else. Work on one stream runs in order.
class Stream {
 public:
  virtual ~Stream() = default;
};

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
};

/// What a running kernel may see of device memory. Kernels here are host functions: `cpu` gives the
/// address back, `sim` gives the place of the bytes behind a device address.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// The host address of `bytes` at `device`, valid while the kernel runs; null when the range is
  /// not allocated memory of the device.
  virtual void* Resolve(const void* device, uint64_t bytes) const = 0;
};

inline constexpr size_t kMaxKernelArgBytes = 128;

/// A kernel and its arguments, which are copied at Launch. What they point to must stay valid and
/// unwritten until the stream has passed the kernel. A kernel may read and write host memory (as a
/// GPU does mapped memory) and must not call its device.
struct KernelLaunch {
  using Kernel = Status (*)(const DeviceMemory& memory, const void* args);
  Kernel kernel = nullptr;
  const void* args = nullptr;
  size_t arg_bytes = 0;    ///< at most kMaxKernelArgBytes; a trivially copyable struct
  double cost_us = 0;      ///< what `sim` adds to the stream's clock
  const char* label = "";  ///< static lifetime; for messages
};

/// Since the device was made. Any thread.
struct DeviceCounters {
  uint64_t bytes_to_device = 0;
  uint64_t bytes_to_host = 0;
  uint64_t copies = 0;
  uint64_t launches = 0;
};

/// Functions may be called from any thread unless marked [owner]: one thread at a time issues and
/// awaits work.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu", "sim:rtx3090".
  virtual const std::string& name() const = 0;
  virtual DeviceKind kind() const = 0;

  // ---- memory. Not while a step runs.

  /// `align` is a power of two, at most 4096. Contents are undefined.
  /// Errors: kResourceExhausted with what was asked, what is free and what the device has.
  virtual Result<void*> Allocate(uint64_t bytes, uint64_t align) = 0;
  /// Null is ignored. Requires: from Allocate, and no queued work uses it.
  virtual void Free(void* device) = 0;
  virtual uint64_t allocated_bytes() const = 0;
  /// Of the device; `cpu`: the machine's memory.
  virtual uint64_t total_bytes() const = 0;

  // ---- streams and events. [owner]

  virtual Result<Stream*> CreateStream() = 0;
  /// Waits for its work first. Null is ignored.
  virtual void DestroyStream(Stream* stream) = 0;
  virtual Result<Event*> CreateEvent() = 0;
  /// Null is ignored. Requires: no queued work waits for it.
  virtual void DestroyEvent(Event* event) = 0;

  /// `event` stands for all work of `stream` so far.
  virtual Status RecordEvent(Event* event, Stream* stream) = 0;
  /// Later work of `stream` runs after `event` as last recorded; one never recorded is passed.
  virtual Status WaitEvent(Stream* stream, Event* event) = 0;
  /// Errors: the first failure of any work since the last sync; the stream goes on behind it.
  virtual Status SyncEvent(Event* event) = 0;
  virtual Status SyncStream(Stream* stream) = 0;
  /// Device clock when `event` was passed. Errors: kUnavailable: not passed yet;
  /// kFailedPrecondition: never recorded.
  virtual Result<double> EventTimeUs(const Event* event) const = 0;

  // ---- work. [owner]

  /// Host memory must stay valid and unwritten until the stream has passed the copy.
  /// Errors: kInvalidArgument: the device side is not allocated memory of this device.
  virtual Status CopyAsync(
      Stream* stream, void* dst, const void* src, uint64_t bytes, CopyDirection direction) = 0;

  /// Errors: kInvalidArgument: arguments too large. The kernel's own failure comes at a sync; on
  /// `cpu` at once.
  virtual Status Launch(Stream* stream, const KernelLaunch& launch) = 0;

  // ---- time and counters

  /// Microseconds: `cpu` a steady clock, `sim` the host's place on the virtual clock, which moves
  /// when the host waits.
  virtual double now_us() const = 0;
  virtual DeviceCounters counters() const = 0;
};

/// Reads `--device`: "auto", "cpu", "sim" (= "sim:rtx3090"). `auto` is `cpu` for now. The memory of
/// `sim` is 24 GiB, or half of this machine's where that is less. Errors: kUnimplemented for
/// `cuda:N`, other presets and files, by name; kInvalidArgument for anything else.
Result<std::unique_ptr<Device>> MakeDevice(std::string_view spec);

}  // namespace ft
