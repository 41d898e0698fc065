// MoeHost: what one instance of a MoE backend plugin may ask of the core: experts, memory within
// its plan, the device, the log, its config. One per instance; used by moe_backend.cpp alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ft/plugin/host_services.h"
#include "ft/plugin/moe_backend.h"

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/device/device.h"
#include "core/moe/expert_bank.h"
#include "core/moe/expert_source.h"

namespace ft {

struct MoeHostOptions {
  std::string name;  ///< for messages: "offload (moe-offload)"
  Device* device = nullptr;
  ExpertSource* source = nullptr;
  const ExpertBanks* banks = nullptr;  ///< may be null
  ThreadPool* pool = nullptr;
  int64_t max_tokens = 0;     ///< of one forward of the plugin
  uint64_t device_bytes = 0;  ///< most device memory
  uint64_t host_bytes = 0;    ///< most host memory
  std::vector<std::pair<std::string, std::string>> config;
};

/// The pointers in MoeHostOptions must outlive it. Not movable: the plugin holds its address.
class MoeHost {
 public:
  /// Errors: those of the formats (scratch sizes).
  static Result<std::unique_ptr<MoeHost>> Create(MoeHostOptions options);
  /// Frees what the plugin left, with a line in the log.
  ~MoeHost();
  MoeHost(const MoeHost&) = delete;
  MoeHost& operator=(const MoeHost&) = delete;

  /// Bytes of kernels' scratch for a model and a step size.
  static Result<uint64_t> ScratchBytes(const MoeModel& model, int64_t max_tokens, int num_workers);

  const ft_host* abi() const { return &host_; }

  uint64_t device_bytes_held() const;
  uint64_t host_bytes_held() const;

 private:
  explicit MoeHost(MoeHostOptions options);

  void FillTables();
  void FillDeviceTable();
  const void* Service(std::string_view id, uint32_t major) const;
  Status Allocate(uint32_t kind, uint64_t bytes, uint64_t align, void** out);
  void Free(void* memory);
  Result<const std::string*> Config(std::string_view key) const;
  Status Read(const ft_expert_read* reads, uint32_t count);
  Status Compute(const ft_moe_compute& compute, ft_stream* stream);
  Status RunCompute(const DeviceMemory* memory, const ft_moe_compute& compute);
  Status SumRoutes(const struct SumRoutesArgs& args, ft_stream* stream);
  void RunSumRoutes(const struct SumRoutesArgs& args) const;

  struct Block {
    uint64_t bytes = 0;
    bool is_device = false;
  };

  const MoeHostOptions options_;
  const MoeModel& model_;
  ft_exec exec_ = {};
  ft_host host_ = {};
  ft_svc_log log_ = {};
  ft_svc_memory memory_ = {};
  ft_svc_device device_ = {};
  ft_svc_config config_ = {};
  ft_svc_experts experts_ = {};
  std::byte* scratch_ = nullptr;
  uint64_t scratch_bytes_ = 0;
  std::vector<ft_expert_job> jobs_;  // of the kernel that runs, with host addresses
  mutable std::mutex mutex_;
  std::map<void*, Block> blocks_;  // guarded by mutex_
  uint64_t device_held_ = 0;       // guarded by mutex_
  uint64_t host_held_ = 0;         // guarded by mutex_

  friend struct MoeHostKernels;
};

}  // namespace ft
