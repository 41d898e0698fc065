#include "plugins/moe-offload/fetcher.h"

#include <algorithm>
#include <chrono>

namespace ft::moe_offload {

using plugin::EventOwner;
using plugin::Memory;

ft_code Fetcher::Create(const plugin::Services& services,
                        const ft_moe_model& model,
                        const ft_moe_budget& budget,
                        ft_error* error) {
  services_ = services;
  has_banks_ = budget.has_banks != 0;
  is_on_device_ = budget.device_kind != FT_DEVICE_CPU;
  if (!is_on_device_) {
    return FT_OK;
  }
  FT_PLUGIN_RETURN_IF_FAILED(copies_.Create(services.device, error));
  for (EventOwner* event :
       {&half_free_[0], &half_free_[1], &copied_[0], &copied_[1], &begin_, &end_}) {
    FT_PLUGIN_RETURN_IF_FAILED(event->Create(services.device, error));
  }
  if (has_banks_) {
    return FT_OK;
  }
  group_bytes_ = kStagingGroup * plugin::MoeExtents(model).max_expert_bytes;
  return Memory::Take(services.memory, FT_MEM_HOST_PINNED, 2 * group_bytes_, "experts on their way",
                      &staging_, error);
}

ft_code Fetcher::WaitFor(EventOwner* computed, ft_error* error) {
  return is_on_device_ ? computed->MakeWait(copies_.get(), error) : FT_OK;
}

ft_code Fetcher::Fetch(std::span<const ft_expert_read> reads,
                       uint64_t expert_bytes,
                       uint64_t wave,
                       ft_stream* stream,
                       ft_error* error) {
  if (!is_on_device_) {
    const auto begin = std::chrono::steady_clock::now();
    const ft_code code = services_.experts->read(services_.experts->ctx, reads.data(),
                                                 static_cast<uint32_t>(reads.size()), error);
    const auto took = std::chrono::steady_clock::now() - begin;
    fetch_ns_ +=
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
    return code;
  }
  if (!has_begun_) {
    FT_PLUGIN_RETURN_IF_FAILED(begin_.Record(copies_.get(), error));
    has_begun_ = true;
  }
  FT_PLUGIN_RETURN_IF_FAILED(has_banks_ ? CopyFromBanks(reads, expert_bytes, error)
                                        : CopyThroughStaging(reads, expert_bytes, error));
  EventOwner& copied = copied_[wave % 2];
  // In this order: whoever waits for the second has passed the first.
  FT_PLUGIN_RETURN_IF_FAILED(end_.Record(copies_.get(), error));
  FT_PLUGIN_RETURN_IF_FAILED(copied.Record(copies_.get(), error));
  return copied.MakeWait(stream, error);
}

ft_code Fetcher::CopyFromBanks(std::span<const ft_expert_read> reads,
                               uint64_t bytes,
                               ft_error* error) {
  for (const ft_expert_read& read : reads) {
    const void* from =
        services_.experts->bank(services_.experts->ctx, read.layer_id, read.expert_id);
    if (from == nullptr) {
      return plugin::Fail(error, FT_E_INTERNAL, "the host has no bank for expert %u of layer %u",
                          read.expert_id, read.layer_id);
    }
    FT_PLUGIN_RETURN_IF_FAILED(Copy(read.dst, from, bytes, error));
  }
  return FT_OK;
}

ft_code Fetcher::CopyThroughStaging(std::span<const ft_expert_read> reads,
                                    uint64_t bytes,
                                    ft_error* error) {
  std::array<ft_expert_read, kStagingGroup> group{};
  while (!reads.empty()) {
    const size_t count = std::min<size_t>(reads.size(), kStagingGroup);
    const uint32_t half = next_half_;
    next_half_ = 1 - next_half_;
    FT_PLUGIN_RETURN_IF_FAILED(half_free_[half].Sync(error));
    for (size_t i = 0; i < count; ++i) {
      group[i] = reads[i];
      group[i].dst = staging_.at(half * group_bytes_ + i * bytes);
    }
    FT_PLUGIN_RETURN_IF_FAILED(services_.experts->read(services_.experts->ctx, group.data(),
                                                       static_cast<uint32_t>(count), error));
    for (size_t i = 0; i < count; ++i) {
      FT_PLUGIN_RETURN_IF_FAILED(Copy(reads[i].dst, group[i].dst, bytes, error));
    }
    FT_PLUGIN_RETURN_IF_FAILED(half_free_[half].Record(copies_.get(), error));
    reads = reads.subspan(count);
  }
  return FT_OK;
}

ft_code Fetcher::Copy(void* slot, const void* from, uint64_t bytes, ft_error* error) {
  return services_.device->copy_async(services_.device->ctx, copies_.get(), slot, from, bytes,
                                      FT_COPY_HOST_TO_DEVICE, error);
}

void Fetcher::Drain() {
  if (is_on_device_) {
    // Whatever failed here was reported by the work that waited for it.
    static_cast<void>(services_.device->stream_sync(services_.device->ctx, copies_.get(), nullptr));
  }
}

void Fetcher::CountTime() {
  if (has_begun_) {
    const uint64_t end_ns = end_.time_ns();
    const uint64_t begin_ns = begin_.time_ns();
    fetch_ns_ += end_ns > begin_ns ? end_ns - begin_ns : 0;
    has_begun_ = false;
  }
}

}  // namespace ft::moe_offload
