#include "core/checkpoint/tensor_index.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/errors.h"
#include "core/checkpoint/shard_list.h"

namespace ft {
namespace {

constexpr uint64_t kLengthBytes = 8;

struct OpenShard {
  FileDescriptor file;
  MappedFile mapping;
};

bool NameLess(const TensorInfo& tensor, std::string_view name) {
  return tensor.name < name;
}

Status AppendTensorsOf(const std::string& path,
                       int file_index,
                       const FileDescriptor& file,
                       uint64_t num_bytes,
                       std::vector<TensorInfo>* tensors) {
  if (num_bytes < kLengthBytes) {
    return DataLoss("{}: {} bytes are too few for a safetensors file", path, num_bytes);
  }
  std::array<std::byte, kLengthBytes> start = {};
  FT_RETURN_IF_ERROR(ReadExactly(file, path, 0, start));
  FT_ASSIGN_OR_RETURN(const uint64_t header_bytes, SafetensorsHeaderBytes(start, num_bytes, path));
  std::string text(static_cast<size_t>(header_bytes), '\0');
  FT_RETURN_IF_ERROR(
      ReadExactly(file, path, kLengthBytes, std::as_writable_bytes(std::span(text))));
  FT_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(text, num_bytes, path));
  for (TensorInfo& tensor : header.tensors) {
    tensor.file_index = file_index;
    tensors->push_back(std::move(tensor));
  }
  return Status();
}

}  // namespace

struct TensorIndex::State {
  std::string path;
  std::vector<CheckpointFile> files;
  std::vector<OpenShard> shards;  // as files
  std::vector<TensorInfo> tensors;
  uint64_t total_bytes = 0;

  std::mutex copies_mutex;
  // Tensors that lie askew in their file, by file and offset; uint64_t for its alignment.
  std::map<std::pair<int, uint64_t>, std::vector<uint64_t>> copies;

  Status OpenShards(const ShardList& list);
  Status CheckIndexEntries(const ShardList& list) const;
};

Status TensorIndex::State::OpenShards(const ShardList& list) {
  for (const std::string& shard_path : list.paths) {
    OpenShard shard;
    FT_ASSIGN_OR_RETURN(shard.file, OpenFile(shard_path));
    FT_ASSIGN_OR_RETURN(const uint64_t num_bytes, FileBytes(shard.file, shard_path));
    FT_RETURN_IF_ERROR(AppendTensorsOf(shard_path, static_cast<int>(files.size()), shard.file,
                                       num_bytes, &tensors));
    FT_ASSIGN_OR_RETURN(shard.mapping, MappedFile::Map(shard.file, shard_path));
    if (shard.mapping.bytes().size() != num_bytes) {
      return DataLoss("{}: has {} bytes now, had {} when it was opened", shard_path,
                      shard.mapping.bytes().size(), num_bytes);
    }
    files.push_back({shard_path, num_bytes});
    shards.push_back(std::move(shard));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i - 1].name == tensors[i].name) {
      const CheckpointFile& a = files[static_cast<size_t>(tensors[i - 1].file_index)];
      const CheckpointFile& b = files[static_cast<size_t>(tensors[i].file_index)];
      return DataLoss("tensor \"{}\" is in two shards: {} ({} bytes) and {} ({} bytes)",
                      tensors[i].name, a.path, a.num_bytes, b.path, b.num_bytes);
    }
  }
  for (const TensorInfo& tensor : tensors) {
    total_bytes += tensor.num_bytes;
  }
  return Status();
}

Status TensorIndex::State::CheckIndexEntries(const ShardList& list) const {
  for (const auto& [name, position] : list.index_entries) {
    const auto found = std::lower_bound(tensors.begin(), tensors.end(), name, NameLess);
    if (found == tensors.end() || found->name != name) {
      return DataLoss(
          "{}: lists the tensor \"{}\" in {} ({} bytes), which has no such tensor; "
          "neither has another of the {} shards",
          list.index_path, name, BaseName(files[position].path), files[position].num_bytes,
          files.size());
    }
  }
  return Status();
}

TensorIndex::TensorIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}

TensorIndex::TensorIndex(TensorIndex&&) noexcept = default;
TensorIndex& TensorIndex::operator=(TensorIndex&&) noexcept = default;
TensorIndex::~TensorIndex() = default;

Result<TensorIndex> TensorIndex::Open(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const ShardList list, FindShards(path));
  auto state = std::make_unique<State>();
  state->path = path;
  FT_RETURN_IF_ERROR(state->OpenShards(list));
  FT_RETURN_IF_ERROR(state->CheckIndexEntries(list));
  return TensorIndex(std::move(state));
}

std::span<const TensorInfo> TensorIndex::tensors() const {
  return state_->tensors;
}

std::span<const CheckpointFile> TensorIndex::files() const {
  return state_->files;
}

uint64_t TensorIndex::total_bytes() const {
  return state_->total_bytes;
}

const std::string& TensorIndex::path() const {
  return state_->path;
}

const TensorInfo* TensorIndex::Find(std::string_view name) const {
  const auto& all = state_->tensors;
  const auto found = std::lower_bound(all.begin(), all.end(), name, NameLess);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

Result<const TensorInfo*> TensorIndex::Get(std::string_view name) const {
  const TensorInfo* tensor = Find(name);
  if (tensor == nullptr) {
    return DataLoss("{}: has no tensor \"{}\" ({} tensors in {} files)", state_->path, name,
                    state_->tensors.size(), state_->files.size());
  }
  return tensor;
}

std::span<const TensorInfo> TensorIndex::WithPrefix(std::string_view prefix) const {
  const auto& all = state_->tensors;
  const auto begin = std::lower_bound(all.begin(), all.end(), prefix, NameLess);
  const auto end = std::partition_point(
      begin, all.end(), [prefix](const TensorInfo& t) { return t.name.starts_with(prefix); });
  return {begin, end};
}

TensorView TensorIndex::Map(const TensorInfo& tensor) const {
  const auto file_index = static_cast<size_t>(tensor.file_index);
  FT_CHECK(file_index < state_->shards.size());
  const std::span<const std::byte> bytes = state_->shards[file_index].mapping.bytes();
  FT_CHECK(tensor.offset <= bytes.size() && tensor.num_bytes <= bytes.size() - tensor.offset);
  const std::byte* data = bytes.data() + tensor.offset;
  if (tensor.offset % DTypeBytes(tensor.dtype) == 0) {  // the mapping itself is page-aligned
    return {data, tensor.dtype, tensor.shape};
  }
  const std::lock_guard lock(state_->copies_mutex);
  std::vector<uint64_t>& copy = state_->copies[{tensor.file_index, tensor.offset}];
  if (copy.empty() && tensor.num_bytes > 0) {
    copy.resize((tensor.num_bytes + 7) / 8);
    std::memcpy(copy.data(), data, tensor.num_bytes);
  }
  return {copy.data(), tensor.dtype, tensor.shape};
}

Result<TensorView> TensorIndex::Map(std::string_view name) const {
  FT_ASSIGN_OR_RETURN(const TensorInfo* tensor, Get(name));
  return Map(*tensor);
}

Status TensorIndex::ReadInto(const TensorInfo& tensor,
                             uint64_t begin,
                             std::span<std::byte> out) const {
  const auto file_index = static_cast<size_t>(tensor.file_index);
  FT_CHECK(file_index < state_->shards.size());
  FT_CHECK(begin <= tensor.num_bytes && out.size() <= tensor.num_bytes - begin);
  return ReadExactly(state_->shards[file_index].file, state_->files[file_index].path,
                     tensor.offset + begin, out);
}

Status TensorIndex::ReadInto(std::string_view name,
                             uint64_t begin,
                             std::span<std::byte> out) const {
  FT_ASSIGN_OR_RETURN(const TensorInfo* tensor, Get(name));
  return ReadInto(*tensor, begin, out);
}

}  // namespace ft
