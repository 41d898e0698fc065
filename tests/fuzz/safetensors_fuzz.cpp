// Fuzzes the header parser of safetensors: the first 8 bytes, the JSON, and the promises of a
// header that was accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "core/checkpoint/safetensors.h"

namespace {

// What a reader relies on: ranges in the file, in order, of the size that the shape says.
void CheckHeader(const ft::SafetensorsHeader& header, uint64_t file_bytes) {
  uint64_t next = 0;
  for (const ft::TensorInfo& tensor : header.tensors) {
    const auto elements = static_cast<uint64_t>(ft::NumElements(tensor.shape));
    const bool holds = tensor.offset >= next && tensor.offset <= file_bytes &&
                       tensor.num_bytes <= file_bytes - tensor.offset &&
                       tensor.num_bytes == elements * ft::DTypeBytes(tensor.dtype);
    if (!holds) {
      std::abort();
    }
    next = tensor.offset + tensor.num_bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto length = ft::SafetensorsHeaderBytes(bytes.first<8>(), size, "fuzz");
  if (!length.ok()) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 8,
                              static_cast<size_t>(length.value()));
  const auto header = ft::ParseSafetensorsHeader(text, size, "fuzz");
  if (header.ok()) {
    CheckHeader(header.value(), size);
  }
  return 0;
}
