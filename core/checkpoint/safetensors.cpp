#include "core/checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/json/parse.h"
#include "core/json/value.h"

namespace ft {
namespace {

constexpr uint64_t kLengthBytes = 8;  // little-endian length of the header text
constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 8;  // × 8 bytes still fits

// A plain non-negative integer; the format knows no floats here.
std::optional<int64_t> NonNegative(const json::Value& value) {
  if (!value.is_number() || !value.as_number().is_integer) {
    return std::nullopt;
  }
  const std::optional<int64_t> number = value.ToInt64();
  return number.has_value() && *number >= 0 ? number : std::nullopt;
}

Status ReadShape(const json::Value& value, TensorInfo* tensor) {
  if (!value.is_array() || value.as_array().size() > kMaxTensorRank) {
    return DataLoss("its shape is no list of up to {} extents", kMaxTensorRank);
  }
  for (const json::Value& extent : value.as_array()) {
    const std::optional<int64_t> number = NonNegative(extent);
    if (!number.has_value()) {
      return DataLoss("its shape holds something that is no extent");
    }
    tensor->shape.push_back(*number);
  }
  return Status();
}

// Product of the extents, or nothing when it does not fit. Zero extents do not hide an overflow.
std::optional<int64_t> CheckedElements(const Shape& shape) {
  int64_t product = 1;
  bool is_empty = false;
  for (const int64_t extent : shape) {
    if (extent == 0) {
      is_empty = true;
      continue;
    }
    if (product > kMaxElements / extent) {
      return std::nullopt;
    }
    product *= extent;
  }
  return is_empty ? 0 : product;
}

// Fills everything but the name; `data_bytes` is the size of the file behind the header.
Status ReadTensor(const json::Value& value, uint64_t data_bytes, TensorInfo* tensor) {
  const json::Value* dtype = value.Find("dtype");
  const json::Value* shape = value.Find("shape");
  const json::Value* offsets = value.Find("data_offsets");
  if (dtype == nullptr || shape == nullptr || offsets == nullptr || !dtype->is_string()) {
    return DataLoss("it lacks \"dtype\", \"shape\" or \"data_offsets\"");
  }
  FT_ASSIGN_OR_RETURN(tensor->dtype, ParseDType(dtype->as_string()));
  FT_RETURN_IF_ERROR(ReadShape(*shape, tensor));
  if (!offsets->is_array() || offsets->as_array().size() != 2) {
    return DataLoss("its data_offsets are no pair");
  }
  const std::optional<int64_t> begin = NonNegative(offsets->as_array()[0]);
  const std::optional<int64_t> end = NonNegative(offsets->as_array()[1]);
  if (!begin.has_value() || !end.has_value() || *begin > *end) {
    return DataLoss("its data_offsets are no range");
  }
  const std::optional<int64_t> elements = CheckedElements(tensor->shape);
  if (!elements.has_value()) {
    return DataLoss("its shape {} is absurdly large", ShapeString(tensor->shape));
  }
  const uint64_t want = static_cast<uint64_t>(*elements) * DTypeBytes(tensor->dtype);
  tensor->offset = static_cast<uint64_t>(*begin);
  tensor->num_bytes = static_cast<uint64_t>(*end - *begin);
  if (tensor->num_bytes != want) {
    return DataLoss("{} {} takes {} bytes, its data_offsets span {}", DTypeName(tensor->dtype),
                    ShapeString(tensor->shape), want, tensor->num_bytes);
  }
  if (static_cast<uint64_t>(*end) > data_bytes) {
    return DataLoss("it ends at byte {} of the data, and the file has {}: {} bytes are missing",
                    *end, data_bytes, static_cast<uint64_t>(*end) - data_bytes);
  }
  return Status();
}

// The bytes of all tensors, in order, must be the data: neither overlaps nor gaps nor a rest.
Status CheckCover(const std::vector<TensorInfo>& tensors, uint64_t data_bytes) {
  uint64_t next = 0;
  const TensorInfo* previous = nullptr;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset != next) {
      return DataLoss("tensor \"{}\" begins at byte {} of the data, {} ends at {}: {}", tensor.name,
                      tensor.offset,
                      previous == nullptr ? "the header" : "\"" + previous->name + "\"", next,
                      tensor.offset < next ? "they overlap" : "a gap");
    }
    next = tensor.offset + tensor.num_bytes;
    previous = &tensor;
  }
  if (next != data_bytes) {
    return DataLoss("the tensors take {} bytes, the file has {} behind its header: {} too many",
                    next, data_bytes, data_bytes - next);
  }
  return Status();
}

Status ReadMetadata(const json::Value& value, SafetensorsHeader* header) {
  if (!value.is_object()) {
    return DataLoss("__metadata__ is no object");
  }
  for (const json::Member& member : value.as_object()) {
    if (!member.value.is_string()) {
      return DataLoss("__metadata__ \"{}\" is no string", member.key);
    }
    header->metadata.emplace_back(member.key, member.value.as_string());
  }
  return Status();
}

Result<SafetensorsHeader> ParseChecked(std::string_view text, uint64_t data_bytes) {
  json::ParseOptions options;
  options.max_bytes = kMaxSafetensorsHeaderBytes;
  options.max_depth = 8;
  FT_ASSIGN_OR_RETURN(const json::Value root, json::Parse(text, options));
  if (!root.is_object()) {
    return DataLoss("the header is a JSON {}, not an object", json::KindName(root.kind()));
  }
  if (root.as_object().size() > kMaxTensorsPerFile) {
    return DataLoss("the header lists {} tensors; ft reads at most {}", root.as_object().size(),
                    kMaxTensorsPerFile);
  }
  SafetensorsHeader header;
  header.tensors.reserve(root.as_object().size());
  for (const json::Member& member : root.as_object()) {
    if (member.key == "__metadata__") {
      FT_RETURN_IF_ERROR(ReadMetadata(member.value, &header));
      continue;
    }
    TensorInfo tensor;
    tensor.name = member.key;
    const Status status = ReadTensor(member.value, data_bytes, &tensor);
    if (!status.ok()) {
      return status.WithContext(fmt::format("tensor \"{}\"", member.key));
    }
    header.tensors.push_back(std::move(tensor));
  }
  // Empty tensors lie where their neighbour begins: order by end, too, so that they do not overlap.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return a.offset != b.offset ? a.offset < b.offset : a.num_bytes < b.num_bytes;
            });
  FT_RETURN_IF_ERROR(CheckCover(header.tensors, data_bytes));
  return header;
}

}  // namespace

Result<uint64_t> SafetensorsHeaderBytes(std::span<const std::byte, 8> start,
                                        uint64_t file_bytes,
                                        const std::string& path) {
  if (std::memcmp(start.data(), "GGUF", 4) == 0) {
    return Unimplemented("{}: is a GGUF file; ft reads safetensors only so far", path);
  }
  uint64_t length = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    length |= std::to_integer<uint64_t>(start[i]) << (8 * i);
  }
  if (file_bytes < kLengthBytes || length > file_bytes - kLengthBytes) {
    return DataLoss("{}: its header claims {} bytes, the file has {} ({})", path, length,
                    file_bytes, HumanBytes(file_bytes));
  }
  if (length > kMaxSafetensorsHeaderBytes) {
    return DataLoss("{}: its header claims {} bytes; the format allows {}", path, length,
                    kMaxSafetensorsHeaderBytes);
  }
  return length;
}

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text,
                                                 uint64_t file_bytes,
                                                 const std::string& path) {
  FT_CHECK(file_bytes >= kLengthBytes + text.size());
  const uint64_t data_start = kLengthBytes + text.size();
  Result<SafetensorsHeader> header = ParseChecked(text, file_bytes - data_start);
  if (!header.ok()) {
    return header.status().WithContext(fmt::format("{} ({} bytes)", path, file_bytes));
  }
  for (TensorInfo& tensor : header.value().tensors) {
    tensor.offset += data_start;
  }
  return header;
}

}  // namespace ft
