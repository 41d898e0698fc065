// How much memory this process may still take: the machine's, cut by its cgroup's limit.
#pragma once

#include <cstdint>

namespace ft {

struct MemoryInfo {
  uint64_t total_bytes = 0;      ///< RAM, or the cgroup's limit where that is less
  uint64_t available_bytes = 0;  ///< what can be taken now without swapping
};

/// Reads /proc/meminfo and the cgroup (v2, then v1). Zeros where neither can be read.
MemoryInfo ReadMemoryInfo();

}  // namespace ft
