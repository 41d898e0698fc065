// The header of one safetensors file: names, dtypes, shapes and places, checked against each other
// and against the file. Reads no tensor data. Which files make a checkpoint is tensor_index.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor_view.h"

namespace ft {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  ///< the format's own limit
inline constexpr size_t kMaxTensorsPerFile = 4'000'000;
inline constexpr size_t kMaxTensorRank = 16;

/// One tensor in a file. `offset` counts from the start of the file.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  int file_index = 0;  ///< into TensorIndex::files(); 0 from ParseSafetensorsHeader
  uint64_t offset = 0;
  uint64_t num_bytes = 0;
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;                            ///< in order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;  ///< `__metadata__`
};

/// Bytes of the header text, from the first 8 bytes of a file of `file_bytes`.
/// Errors: kDataLoss with both counts when it is longer than the file or than the format's limit;
/// kUnimplemented for a GGUF file.
Result<uint64_t> SafetensorsHeaderBytes(std::span<const std::byte, 8> start,
                                        uint64_t file_bytes,
                                        const std::string& path);

/// Checks and returns a header. `text` is the JSON behind the first 8 bytes, `file_bytes` the size
/// of the whole file.
/// Errors: kDataLoss with `path`, the tensor and byte counts: no JSON object, fields missing, a
/// shape that overflows or disagrees with its bytes, ranges that overlap, leave gaps or end beyond
/// or before the end of the file; kUnimplemented for a dtype that ft does not know.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text,
                                                 uint64_t file_bytes,
                                                 const std::string& path);

}  // namespace ft
