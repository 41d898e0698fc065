#include "core/device/device.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/memory_info.h"
#include "core/device/cpu_device.h"
#include "core/device/sim_device.h"

namespace ft {

Result<std::unique_ptr<Device>> MakeDevice(std::string_view spec) {
  if (spec == "auto" || spec == "cpu") {
    return MakeCpuDevice();
  }
  if (spec == "sim" || spec == "sim:rtx3090") {
    // The simulated memory is this machine's: half of it at most.
    SimDeviceOptions options;
    const uint64_t half_bytes = ReadMemoryInfo().total_bytes / 2;
    options.arena_bytes =
        half_bytes == 0 ? options.arena_bytes : std::min(options.arena_bytes, half_bytes);
    return MakeSimDevice(options);
  }
  if (spec.rfind("sim:", 0) == 0) {
    return Unimplemented(
        "--device {}: the only preset so far is rtx3090, and files are not read yet; use --device "
        "sim",
        spec);
  }
  if (spec == "cuda" || spec.rfind("cuda:", 0) == 0) {
    return Unimplemented("--device {}: CUDA devices are not built yet; use --device cpu or sim",
                         spec);
  }
  return InvalidArgument("--device {}: want auto, cpu or sim", spec);
}

}  // namespace ft
