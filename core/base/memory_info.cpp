#include "core/base/memory_info.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace ft {
namespace {

uint64_t MeminfoBytes(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  std::string rest;
  while (in >> name >> kib && std::getline(in, rest)) {
    if (name == key + ":") {
      return kib * 1024;
    }
  }
  return 0;
}

// The number in a file; 0 when absent or "max".
uint64_t NumberIn(const char* path) {
  std::ifstream in(path);
  uint64_t value = 0;
  return in >> value ? value : 0;
}

}  // namespace

MemoryInfo ReadMemoryInfo() {
  MemoryInfo info;
  info.total_bytes = MeminfoBytes("MemTotal");
  info.available_bytes = MeminfoBytes("MemAvailable");
  uint64_t limit = NumberIn("/sys/fs/cgroup/memory.max");
  uint64_t used = NumberIn("/sys/fs/cgroup/memory.current");
  if (limit == 0) {
    limit = NumberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    used = NumberIn("/sys/fs/cgroup/memory/memory.usage_in_bytes");
  }
  if (limit > 0 && limit < info.total_bytes) {
    info.total_bytes = limit;
    info.available_bytes = std::min(info.available_bytes, limit - std::min(limit, used));
  }
  return info;
}

}  // namespace ft
