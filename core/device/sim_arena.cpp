#include "core/device/sim_arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <sys/mman.h>

#include "core/base/errors.h"
#include "core/base/file.h"

namespace ft {
namespace {

constexpr uint64_t kPage = 4096;

Result<std::byte*> Reserve(uint64_t bytes, int protection) {
  void* memory =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return ResourceExhausted("sim: cannot reserve {} of addresses: {}", HumanBytes(bytes),
                             std::strerror(errno));
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

Result<std::unique_ptr<SimArena>> SimArena::Create(uint64_t bytes) {
  std::unique_ptr<SimArena> arena(new SimArena());
  arena->total_bytes_ = (bytes + kPage - 1) / kPage * kPage;
  FT_ASSIGN_OR_RETURN(arena->addresses_, Reserve(arena->total_bytes_, PROT_NONE));
  FT_ASSIGN_OR_RETURN(arena->bytes_, Reserve(arena->total_bytes_, PROT_READ | PROT_WRITE));
  arena->free_[0] = arena->total_bytes_;
  return arena;
}

SimArena::~SimArena() {
  for (std::byte* mapping : {addresses_, bytes_}) {
    if (mapping != nullptr) {
      munmap(mapping, total_bytes_);
    }
  }
}

Result<void*> SimArena::Allocate(uint64_t bytes, uint64_t align) {
  FT_CHECK(align != 0 && (align & (align - 1)) == 0 && align <= kPage);
  align = std::max<uint64_t>(align, 64);
  const std::lock_guard lock(mutex_);
  uint64_t largest = 0;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [offset, free_bytes] = *range;
    const uint64_t begin = (offset + align - 1) & ~(align - 1);
    const uint64_t lost = begin - offset;
    largest = std::max(largest, free_bytes);
    if (lost >= free_bytes || free_bytes - lost < bytes) {
      continue;
    }
    const uint64_t taken = std::max<uint64_t>(bytes, 1);
    free_.erase(range);
    if (lost != 0) {
      free_[offset] = lost;
    }
    if (free_bytes - lost > taken) {
      free_[begin + taken] = free_bytes - lost - taken;
    }
    used_[begin] = taken;
    allocated_bytes_ += taken;
    return static_cast<void*>(addresses_ + begin);
  }
  return ResourceExhausted(
      "sim: no device memory for {}: {} of {} are taken, the largest free range is {}",
      HumanBytes(bytes), HumanBytes(allocated_bytes_), HumanBytes(total_bytes_),
      HumanBytes(largest));
}

void SimArena::Free(void* device) {
  if (device == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(OffsetOf(device));
  FT_CHECK(found != used_.end());
  uint64_t offset = found->first;
  uint64_t bytes = found->second;
  used_.erase(found);
  allocated_bytes_ -= bytes;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    offset = std::prev(next)->first;
    bytes += std::prev(next)->second;
  }
  free_[offset] = bytes;
  const uint64_t first_page = (offset + kPage - 1) / kPage * kPage;
  const uint64_t last_page = (offset + bytes) / kPage * kPage;
  if (last_page > first_page) {
    madvise(bytes_ + first_page, last_page - first_page, MADV_DONTNEED);
  }
}

void* SimArena::Resolve(const void* device, uint64_t bytes) const {
  if (!Contains(device)) {
    return nullptr;
  }
  const uint64_t offset = OffsetOf(device);
  const std::lock_guard lock(mutex_);
  auto found = used_.upper_bound(offset);
  if (found == used_.begin()) {
    return nullptr;
  }
  --found;
  const uint64_t within = offset - found->first;
  if (within > found->second || bytes > found->second - within) {
    return nullptr;
  }
  return bytes_ + offset;
}

bool SimArena::Contains(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto begin = reinterpret_cast<uintptr_t>(addresses_);
  return at >= begin && at - begin < total_bytes_;
}

uint64_t SimArena::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return allocated_bytes_;
}

uint64_t SimArena::OffsetOf(const void* device) const {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(device) -
                               reinterpret_cast<uintptr_t>(addresses_));
}

}  // namespace ft
