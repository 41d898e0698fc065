// AlignedBytes: an owned block of host memory on a cache line, for packed weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace ft {

class AlignedBytes {
 public:
  static constexpr size_t kAlignBytes = 64;

  AlignedBytes() = default;

  /// Contents are undefined; null data when there is no memory or `bytes` is 0.
  explicit AlignedBytes(uint64_t bytes)
      : data_(static_cast<std::byte*>(
            bytes == 0 ? nullptr
                       : std::aligned_alloc(
                             kAlignBytes, (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes))),
        num_bytes_(bytes) {}

  std::byte* data() const { return data_.get(); }

  uint64_t num_bytes() const { return num_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  std::unique_ptr<std::byte[], Free> data_;
  uint64_t num_bytes_ = 0;
};

}  // namespace ft
