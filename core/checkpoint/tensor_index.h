// TensorIndex: every tensor of a checkpoint, where its bytes lie, and two ways to them: mapped, or
// read into memory of the caller. Knows no model family and decodes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/status.h"
#include "core/checkpoint/safetensors.h"
#include "core/tensor/tensor_view.h"

namespace ft {

struct CheckpointFile {
  std::string path;
  uint64_t num_bytes = 0;
};

/// All headers of a checkpoint, checked at Open. Movable. Const calls may run on any threads.
class TensorIndex {
 public:
  /// `path`: a *.safetensors file, or a folder that holds `model.safetensors`, or
  /// `model.safetensors.index.json` and the shards it names (however they are called), or else any
  /// *.safetensors files.
  /// Errors: kNotFound when `path` is not there. kDataLoss, with file and byte counts, when a file
  /// is missing, short, malformed or ends early, a name is in two shards, or the index lists a
  /// tensor that its shard lacks. kUnimplemented for GGUF and for dtypes that ft does not know.
  static Result<TensorIndex> Open(const std::string& path);

  TensorIndex(TensorIndex&&) noexcept;
  TensorIndex& operator=(TensorIndex&&) noexcept;
  ~TensorIndex();

  /// Sorted by name.
  std::span<const TensorInfo> tensors() const;

  std::span<const CheckpointFile> files() const;

  /// Null when there is none. Lives as long as this index.
  const TensorInfo* Find(std::string_view name) const;

  /// Errors: kDataLoss that names the tensor and the folder.
  Result<const TensorInfo*> Get(std::string_view name) const;

  /// The tensors whose names begin with `prefix`, sorted.
  std::span<const TensorInfo> WithPrefix(std::string_view prefix) const;

  /// The tensor in the mapped file; pages are read when touched. `data` is aligned to the element:
  /// a tensor that lies askew in its file is copied once. Lives as long as this index.
  /// Errors: as Get.
  Result<TensorView> Map(std::string_view name) const;
  TensorView Map(const TensorInfo& tensor) const;  ///< `tensor` is one of tensors()

  /// Reads `out.size()` bytes of the tensor from its byte `begin` on, past the mapping.
  /// Requires: the range lies within the tensor. Errors: kDataLoss when the file has shrunk.
  Status ReadInto(const TensorInfo& tensor, uint64_t begin, std::span<std::byte> out) const;
  Status ReadInto(std::string_view name, uint64_t begin, std::span<std::byte> out) const;

  /// Sum over all tensors.
  uint64_t total_bytes() const;

  /// The folder or file given to Open.
  const std::string& path() const;

 private:
  struct State;
  explicit TensorIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ft
