// One anonymous mapping, cut into a buffer per layer and block.
#include "core/kv_memory/kv_memory.h"

#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "core/base/check.h"
#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/kv_memory/cache_bytes.h"

namespace ft {

Result<std::unique_ptr<KvMemory>> KvMemory::Create(std::vector<CacheGroup> groups,
                                                   std::vector<RecurrentBlock> blocks,
                                                   const KvMemoryOptions& options) {
  if (options.dtype != DType::kF32) {
    return Unimplemented("kv cache of {}: ft keeps F32 only", DTypeName(options.dtype));
  }
  FT_ASSIGN_OR_RETURN(const uint64_t bytes, KvMemoryBytes(groups, blocks, options));
  std::unique_ptr<KvMemory> memory(new KvMemory);
  if (bytes > 0) {
    void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
      return ResourceExhausted("no memory for a cache of {}; ask for fewer pages",
                               HumanBytes(bytes));
    }
    memory->memory_ = static_cast<std::byte*>(mapping);
  }
  memory->num_bytes_ = bytes;
  uint64_t offset = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    std::vector<uint64_t>& offsets = memory->layer_offsets_.emplace_back();
    for (const int64_t per_token : groups[group].elements_per_token) {
      offsets.push_back(offset);
      offset += internal::AlignUp(static_cast<uint64_t>(options.num_pages[group]) *
                                  static_cast<uint64_t>(options.page_size_tokens) *
                                  static_cast<uint64_t>(per_token) * DTypeBytes(options.dtype));
    }
  }
  for (const RecurrentBlock& block : blocks) {
    memory->block_offsets_.push_back(offset);
    offset +=
        internal::AlignUp(static_cast<uint64_t>(options.num_state_slots) *
                          static_cast<uint64_t>(block.num_elements) * DTypeBytes(block.dtype));
  }
  FT_CHECK(offset == bytes);
  memory->groups_ = std::move(groups);
  memory->blocks_ = std::move(blocks);
  memory->options_ = options;
  return memory;
}

KvMemory::~KvMemory() {
  if (memory_ != nullptr) {
    munmap(memory_, num_bytes_);
  }
}

KvLayerView KvMemory::Layer(int group, int index) const {
  const auto g = static_cast<size_t>(group);
  const auto i = static_cast<size_t>(index);
  FT_CHECK(g < groups_.size() && i < layer_offsets_[g].size());
  KvLayerView view;
  view.base = reinterpret_cast<float*>(memory_ + layer_offsets_[g][i]);  // NOLINT: aligned above
  view.page_size_tokens = options_.page_size_tokens;
  view.row_elements = groups_[g].elements_per_token[i];
  view.num_pages = options_.num_pages[g];
  return view;
}

std::span<std::byte> KvMemory::State(int block, int32_t slot) const {
  const auto b = static_cast<size_t>(block);
  FT_CHECK(b < blocks_.size() && slot >= 0 && slot < options_.num_state_slots);
  const size_t bytes = static_cast<size_t>(blocks_[b].num_elements) * DTypeBytes(blocks_[b].dtype);
  return {memory_ + block_offsets_[b] + static_cast<size_t>(slot) * bytes, bytes};
}

void KvMemory::ClearState(int32_t slot) {
  for (size_t block = 0; block < blocks_.size(); ++block) {
    const std::span<std::byte> state = State(static_cast<int>(block), slot);
    std::memset(state.data(), 0, state.size());
  }
}

}  // namespace ft
