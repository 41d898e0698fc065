// Fetcher: brings experts into slots: read from disk straight into them where the host may write
// them, else copied by the device's copy engine, from banks or through a staging buffer. Knows no
// cache.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "ft/plugin/moe_backend.h"
#include "ft/plugin/moe_sdk.h"

#include "plugins/moe-offload/plan.h"

namespace ft::moe_offload {

class Fetcher {
 public:
  /// `services` and `model` must outlive it.
  ft_code Create(const plugin::Services& services,
                 const ft_moe_model& model,
                 const ft_moe_budget& budget,
                 ft_error* error);

  /// Later fetches overwrite slots only behind `computed`.
  ft_code WaitFor(plugin::EventOwner* computed, ft_error* error);

  /// Brings every expert to its `dst` (a slot's address). Work issued on `stream` afterwards sees
  /// them. `wave` counts up. On an error slots hold anything.
  ft_code Fetch(std::span<const ft_expert_read> reads,
                uint64_t expert_bytes,
                uint64_t wave,
                ft_stream* stream,
                ft_error* error);

  /// Waits for what is on its way.
  void Drain();

  /// Time of the fetch lane, where it is not known yet; call when a step's work has passed.
  void CountTime();

  uint64_t fetch_ns() const { return fetch_ns_; }

 private:
  ft_code CopyFromBanks(std::span<const ft_expert_read> reads, uint64_t bytes, ft_error* error);
  ft_code CopyThroughStaging(std::span<const ft_expert_read> reads,
                             uint64_t bytes,
                             ft_error* error);
  ft_code Copy(void* slot, const void* from, uint64_t bytes, ft_error* error);

  plugin::Services services_;
  bool is_on_device_ = false;
  bool has_banks_ = false;
  uint64_t group_bytes_ = 0;  // of one half of the staging buffer
  plugin::Memory staging_;    // two halves: one is read into while the other is copied
  uint32_t next_half_ = 0;
  plugin::StreamOwner copies_;
  std::array<plugin::EventOwner, 2> half_free_;  // the copies out of a half have passed
  std::array<plugin::EventOwner, 2> copied_;     // by wave, in turn
  plugin::EventOwner begin_;
  plugin::EventOwner end_;
  bool has_begun_ = false;
  std::atomic<uint64_t> fetch_ns_{0};
};

}  // namespace ft::moe_offload
