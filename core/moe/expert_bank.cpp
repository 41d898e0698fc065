#include "core/moe/expert_bank.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "core/base/errors.h"
#include "core/base/file.h"

namespace ft {
namespace {

// Experts of one batch, so that progress comes often and the source may still read in parallel.
constexpr int kBatchExperts = 32;

}  // namespace

Result<std::unique_ptr<ExpertBanks>> ExpertBanks::Load(ExpertSource* source,
                                                       const Progress& progress) {
  const MoeModel& model = source->model();
  const uint64_t total_bytes = model.total_expert_bytes();
  std::unique_ptr<ExpertBanks> banks(new ExpertBanks());
  std::vector<ft_expert_read> reads;
  for (const ft_moe_layer& layer : model.layers()) {
    const ExpertCodec& codec = model.kind(static_cast<int>(layer.kind));
    Bank bank;
    bank.stride = codec.expert_bytes();
    bank.num_experts = codec.kind().num_experts;
    bank.bytes = bank.stride * static_cast<uint64_t>(bank.num_experts);
    void* memory =
        mmap(nullptr, bank.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return ResourceExhausted("experts of layer {}: no memory for {} (all experts: {}): {}",
                               layer.layer_id, HumanBytes(bank.bytes), HumanBytes(total_bytes),
                               std::strerror(errno));
    }
    madvise(memory, bank.bytes, MADV_HUGEPAGE);  // a wish: fewer page faults and TLB misses
    bank.data = static_cast<std::byte*>(memory);
    banks->bank_of_layer_.resize(layer.layer_id + size_t{1});
    banks->bank_of_layer_.back() = bank;
    for (int begin = 0; begin < bank.num_experts; begin += kBatchExperts) {
      const int end = std::min(begin + kBatchExperts, bank.num_experts);
      reads.clear();
      for (int expert = begin; expert < end; ++expert) {
        reads.push_back({layer.layer_id, static_cast<uint32_t>(expert),
                         bank.data + bank.stride * static_cast<uint64_t>(expert)});
      }
      FT_RETURN_IF_ERROR(source->Read(reads));
      banks->num_bytes_ += bank.stride * reads.size();
      if (progress != nullptr && !progress(banks->num_bytes_, total_bytes)) {
        return Cancelled("loading experts was stopped at {} of {}", HumanBytes(banks->num_bytes_),
                         HumanBytes(total_bytes));
      }
    }
  }
  return banks;
}

ExpertBanks::~ExpertBanks() {
  for (const Bank& bank : bank_of_layer_) {
    if (bank.data != nullptr) {
      munmap(bank.data, bank.bytes);
    }
  }
}

const void* ExpertBanks::Find(int layer_id, int expert_id) const {
  if (layer_id < 0 || static_cast<size_t>(layer_id) >= bank_of_layer_.size()) {
    return nullptr;
  }
  const Bank& bank = bank_of_layer_[static_cast<size_t>(layer_id)];
  if (expert_id < 0 || expert_id >= bank.num_experts) {
    return nullptr;
  }
  return bank.data + bank.stride * static_cast<uint64_t>(expert_id);
}

}  // namespace ft
