// A small MoE model of random experts, held packed in memory, as the source of a backend under
// test: it counts what is read and computed, and fails on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/moe/expert_source.h"
#include "core/moe/moe_backend.h"
#include "core/quant/quantization.h"

namespace ft {

/// Three MoE layers of two kinds: layers 1 and 4 have 6 experts and top 2, layer 2 has 5 experts,
/// top 3, biases and another activation.
class TestMoeModel final : public ExpertSource {
 public:
  /// `format`: "f32" or "bf16", built in; "mixed": gate and up f32, down bf16.
  explicit TestMoeModel(const std::string& format);

  const MoeModel& model() const override { return model_; }

  Status Read(std::span<const ft_expert_read> reads) override;

  uint64_t staging_bytes() const override { return 0; }

  /// The slow reference of one step, routes summed in top-k order.
  std::vector<float> Reference(const MoeForward& forward) const;

  int fail_after_reads = -1;  ///< experts that may still be read; -1: no limit
  int64_t num_read = 0;       ///< experts, so far

 private:
  void AddLayer(int layer_id, const ExpertKind& kind);
  const std::vector<std::byte>& Packed(int layer_id, int expert) const;

  QuantizationRegistry formats_;
  const Quantization* gate_up_ = nullptr;
  const Quantization* down_ = nullptr;
  MoeModel model_;
  uint32_t seed_ = 1;
  std::vector<std::vector<std::vector<std::byte>>> packed_;  // [MoE layers][experts]
};

/// Rows that the test model's formats have computed in expert_mlp since the process started, over
/// all models; only by formats that are not mixed.
uint64_t NumRoutesComputed();

}  // namespace ft
