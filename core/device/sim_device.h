// SimDevice: an accelerator made of host memory, to develop and test placement without one.
//
// Device addresses lie in a reservation that nobody may touch, so a host read of device memory
// faults at once; the bytes are in a second mapping that only kernels and the copy engine see. Work
// is queued per stream and runs as late as it may: when the host waits, or when another stream that
// must run waits for an event. A missing wait therefore shows as wrong data. Time is virtual: each
// stream has a clock, and the two copy engines (to the device, to the host) serve one copy at a
// time. Not a model of a GPU's speed: kernels cost what the launcher says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/device/device.h"

namespace ft {

/// The defaults are those of an RTX 3090 on PCIe 4.0 x16.
struct SimDeviceOptions {
  std::string preset = "rtx3090";
  uint64_t arena_bytes = uint64_t{24} << 30;
  double copy_gb_per_s = 25.0;    ///< each direction, 10^9 bytes
  double copy_latency_us = 10.0;  ///< per copy
  double launch_us = 5.0;         ///< per kernel, beside its own cost
  uint32_t max_queued = 1024;     ///< per stream; a full queue is run
};

/// Errors: kResourceExhausted when the arena cannot be reserved, kInvalidArgument for options that
/// make no sense.
Result<std::unique_ptr<Device>> MakeSimDevice(const SimDeviceOptions& options = {});

}  // namespace ft
