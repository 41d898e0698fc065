// Attention: projections, per-head norms, rotation, the paged cache, and the output projection of
// one layer. Grouped heads with one key and value dim; MLA and the like are their own layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/layers/linear.h"
#include "core/layers/step_context.h"
#include "core/layers/weight_loader.h"

namespace ft {

struct AttentionConfig {
  int64_t hidden_dim = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 0;            ///< of the scores
  int64_t window_tokens = 0;  ///< 0 = all
  int rotary_index = 0;       ///< into StepContext::rotary; -1: no rotation
  int cache_group = 0;        ///< its rows: group and place in it
  int cache_index = 0;
  bool has_qkv_bias = false;
  bool has_output_bias = false;
  bool has_qk_norm = false;  ///< RMS norm of each head of q and k, before the rotation
  float norm_epsilon = 0;
};

/// Elements that a token keeps in this layer's cache.
inline int64_t CacheElements(const AttentionConfig& config) {
  return 2 * config.num_kv_heads * config.head_dim;
}

struct AttentionWeights {
  Linear q, k, v, output;
  std::vector<float> q_norm, k_norm;  ///< [head_dim], or empty
};

/// `prefix`: "model.layers.0.self_attn".
AttentionWeights LoadAttention(const AttentionConfig& config,
                               const std::string& prefix,
                               WeightLoader* loader);

/// Working memory; layers share one.
struct AttentionBuffers {
  AttentionBuffers(int64_t max_tokens, int64_t max_q_dim, int64_t max_kv_dim, int num_workers);

  std::vector<float> q;       ///< [max_tokens, num_heads * head_dim]
  std::vector<float> k;       ///< [max_tokens, num_kv_heads * head_dim]
  std::vector<float> v;       ///< the same
  std::vector<float> values;  ///< [max_tokens, num_heads * head_dim]
  ops::AttentionScratch scratch;
};

/// Writes this step's keys and values into the cache, then attends.
/// `x`    [num_tokens, hidden_dim], normed
/// `out`  [num_tokens, hidden_dim], overwritten
Status AttentionForward(const AttentionConfig& config,
                        const AttentionWeights& weights,
                        const StepContext& step,
                        const float* x,
                        float* out,
                        AttentionBuffers* buffers);

}  // namespace ft
