// CpuDevice: the host as a device: memory is memory, every piece of work is done on return.
#pragma once

#include <memory>

#include "core/device/device.h"

namespace ft {

std::unique_ptr<Device> MakeCpuDevice();

}  // namespace ft
