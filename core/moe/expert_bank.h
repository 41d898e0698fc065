// ExpertBanks: all experts of all MoE layers, packed, in host memory. What backends that compute in
// place use, and what `offload` fetches from where the model fits RAM.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/moe/expert_source.h"

namespace ft {

class ExpertBanks {
 public:
  /// Called on the loading thread, after each batch. False stops the load (kCancelled).
  using Progress = std::function<bool(uint64_t done_bytes, uint64_t total_bytes)>;

  /// Reads every expert of `source`. `progress` may be null.
  /// Errors: those of the source; kResourceExhausted with the numbers when memory is short.
  static Result<std::unique_ptr<ExpertBanks>> Load(ExpertSource* source, const Progress& progress);

  ~ExpertBanks();
  ExpertBanks(const ExpertBanks&) = delete;
  ExpertBanks& operator=(const ExpertBanks&) = delete;

  /// The packed expert, 64-byte aligned; null when there is no such layer or expert. Any thread.
  const void* Find(int layer_id, int expert_id) const;

  uint64_t num_bytes() const { return num_bytes_; }

 private:
  struct Bank {
    std::byte* data = nullptr;
    uint64_t stride = 0;  // bytes from one expert to the next
    uint64_t bytes = 0;
    int num_experts = 0;
  };

  ExpertBanks() = default;

  std::vector<Bank> bank_of_layer_;  // [largest layer_id + 1]
  uint64_t num_bytes_ = 0;
};

}  // namespace ft
