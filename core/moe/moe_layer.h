// MoeLayer: router, top k and the routed experts of one layer. What a family calls; shared experts
// and anything else around it are the family's own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/moe/moe_backend.h"
#include "core/moe/router.h"
#include "core/quant/quantization.h"

namespace ft {

/// The router's weights, packed. Borrowed pointers outlive the layer.
struct RouterWeights {
  const Quantization* format = nullptr;
  uint32_t layout = 0;
  const void* packed = nullptr;        ///< [num_experts, hidden_dim]
  const float* logit_bias = nullptr;   ///< [num_experts] added to the logits, or null
  const float* choice_bias = nullptr;  ///< [num_experts] e_score_correction_bias, or null
};

/// Working memory of MoeLayer::Forward for steps of up to max_tokens; layers share one.
class MoeScratch {
 public:
  MoeScratch(int64_t max_tokens, int max_experts, int max_top_k);

  static uint64_t Bytes(int64_t max_tokens, int max_experts, int max_top_k);

  float* logits() { return logits_.data(); }

  int32_t* expert_ids() { return expert_ids_.data(); }

  float* expert_weights() { return expert_weights_.data(); }

  int64_t max_tokens() const { return max_tokens_; }

 private:
  int64_t max_tokens_;
  std::vector<float> logits_;          // [max_tokens, max_experts]
  std::vector<int32_t> expert_ids_;    // [max_tokens, max_top_k]
  std::vector<float> expert_weights_;  // [max_tokens, max_top_k]
};

struct MoeLayerInput {
  int64_t num_tokens = 0;
  const float* x = nullptr;  ///< [num_tokens, hidden_dim], normed
  int64_t x_stride = 0;
  float* out = nullptr;  ///< [num_tokens, hidden_dim], overwritten; not x
  int64_t out_stride = 0;
  uint32_t compute_mode = FT_COMPUTE_EXACT;
  bool is_deterministic = false;
};

struct MoeLayer {
  int layer_id = 0;
  int64_t hidden_dim = 0;
  RouterOptions router;
  RouterWeights weights;

  /// The router runs in exact mode always: a rounded logit chooses another expert.
  /// Errors: those of the router's format and of the backend.
  Status Forward(const MoeLayerInput& input,
                 const ft_exec& exec,
                 MoeBackend* backend,
                 MoeScratch* scratch) const;
};

}  // namespace ft
