// Eight bytes of header length, a JSON header padded to eight, the data.
#include "core/checkpoint/safetensors_writer.h"

#include <cstdint>
#include <cstring>

#include "core/base/file.h"
#include "core/json/write.h"

namespace ft {

std::string SafetensorsBytes(std::span<const NamedTensor> tensors) {
  json::Value header = json::Value::MakeObject();
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    json::Value entry = json::Value::MakeObject();
    json::Value shape = json::Value::MakeArray();
    for (const int64_t extent : tensor.view.shape) {
      shape.Append(extent);
    }
    json::Value range = json::Value::MakeArray();
    range.Append(offset);
    offset += tensor.view.num_bytes();
    range.Append(offset);
    entry.Set("dtype", DTypeName(tensor.view.dtype));
    entry.Set("shape", std::move(shape));
    entry.Set("data_offsets", std::move(range));
    header.Set(tensor.name, std::move(entry));
  }
  std::string text = json::Write(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t num_header_bytes = text.size();
  std::string bytes(sizeof num_header_bytes, '\0');
  std::memcpy(bytes.data(), &num_header_bytes, sizeof num_header_bytes);  // little-endian hosts
  bytes += text;
  bytes.reserve(bytes.size() + offset);
  for (const NamedTensor& tensor : tensors) {
    bytes.append(static_cast<const char*>(tensor.view.data), tensor.view.num_bytes());
  }
  return bytes;
}

Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  return WriteFileAtomically(path, SafetensorsBytes(tensors));
}

}  // namespace ft
