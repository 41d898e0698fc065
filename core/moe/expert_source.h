// ExpertSource: where experts come from when they are not in memory. The checkpoint is one
// (checkpoint_experts.h); tests make their own.
#pragma once

#include <cstdint>
#include <span>

#include "ft/plugin/moe_backend.h"

#include "core/base/status.h"
#include "core/moe/moe_model.h"

namespace ft {

class ExpertSource {
 public:
  virtual ~ExpertSource() = default;

  /// Lives as long as the source.
  virtual const MoeModel& model() const = 0;

  /// Brings experts, packed, into `dst` of each (expert_bytes of the layer's kind, 64-byte aligned
  /// host memory), as one batch. One call at a time.
  /// Errors: those of the storage and of the format; the destinations then hold anything and the
  /// source goes on working.
  virtual Status Read(std::span<const ft_expert_read> reads) = 0;

  /// Host memory that Read keeps for experts as stored on their way; taken before the first Read.
  virtual uint64_t staging_bytes() const = 0;
};

}  // namespace ft
