// SimArena: the memory of the simulated device: addresses that nobody may touch, and the bytes
// behind them elsewhere. Hands out ranges; knows no streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/status.h"
#include "core/device/device.h"

namespace ft {

/// First fit, neighbouring free ranges joined. Any thread.
class SimArena final : public DeviceMemory {
 public:
  /// Reserves `bytes` of addresses twice; RAM is taken when bytes are written, and given back by
  /// Free. Errors: kResourceExhausted with the system's reason.
  static Result<std::unique_ptr<SimArena>> Create(uint64_t bytes);
  ~SimArena() override;
  SimArena(const SimArena&) = delete;
  SimArena& operator=(const SimArena&) = delete;

  /// A device address. `align`: a power of two, at most 4096.
  /// Errors: kResourceExhausted with what was asked, the largest free range, and the total.
  Result<void*> Allocate(uint64_t bytes, uint64_t align);
  void Free(void* device);

  void* Resolve(const void* device, uint64_t bytes) const override;

  /// True for any address of the reservation, allocated or not.
  bool Contains(const void* address) const;

  uint64_t total_bytes() const { return total_bytes_; }

  uint64_t allocated_bytes() const;

 private:
  SimArena() = default;

  uint64_t OffsetOf(const void* device) const;

  std::byte* addresses_ = nullptr;  // PROT_NONE
  std::byte* bytes_ = nullptr;      // what kernels see
  uint64_t total_bytes_ = 0;
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // offset -> bytes
  std::map<uint64_t, uint64_t> used_;  // offset -> bytes
  uint64_t allocated_bytes_ = 0;
};

}  // namespace ft
