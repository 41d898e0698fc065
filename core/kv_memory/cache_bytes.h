// Alignment and limit shared by the cache's size arithmetic and its buffers. Internal.
#pragma once

#include <cstdint>

namespace ft::internal {

inline constexpr uint64_t kCacheAlignBytes = 64;               ///< a cache line
inline constexpr uint64_t kMaxCacheBytes = uint64_t{1} << 46;  ///< 64 TiB: beyond any machine

constexpr uint64_t AlignUp(uint64_t bytes) {
  return (bytes + kCacheAlignBytes - 1) / kCacheAlignBytes * kCacheAlignBytes;
}

}  // namespace ft::internal
