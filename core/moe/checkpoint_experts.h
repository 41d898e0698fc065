// CheckpointExperts: the ExpertSource over a checkpoint on disk: reads an expert's stored parts
// past the page cache and packs them for the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/checkpoint/tensor_index.h"
#include "core/moe/expert_places.h"
#include "core/moe/expert_source.h"

namespace ft {

struct CheckpointExpertsOptions {
  ThreadPool* pool = nullptr;  ///< packs; null: the calling thread does
  int staging_experts = 16;    ///< held as stored on their way, half of them read at once; >= 2
  bool allow_direct = true;    ///< false: through the page cache
  bool allow_io_uring = true;
};

class CheckpointExperts final : public ExpertSource {
 public:
  /// Finds the experts of all layers. `index` and `formats` must outlive it; reads no tensor yet.
  /// Errors: as FindExperts and BatchReader::Create.
  static Result<std::unique_ptr<CheckpointExperts>> Create(
      const TensorIndex* index,
      const QuantizationRegistry* formats,
      std::span<const MoeLayerSpec> layers,
      const CheckpointExpertsOptions& options = {});
  ~CheckpointExperts() override;

  const MoeModel& model() const override;
  Status Read(std::span<const ft_expert_read> reads) override;
  uint64_t staging_bytes() const override;

  /// All experts as stored in the files.
  uint64_t stored_bytes() const;

  /// Of one layer, for `ft inspect`. Requires: a MoE layer.
  const ExpertPlaces& places(int layer_id) const;

  /// How bytes are read: "io_uring+direct", ….
  const char* read_mode() const;

 private:
  struct State;
  explicit CheckpointExperts(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ft
