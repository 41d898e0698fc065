// Attention of one layer over the paged cache.
#include "core/layers/attention.h"

#include <algorithm>

#include "core/ops/norm.h"

namespace ft {
namespace {

// Norm and rotation of one token's heads, in place.
void PrepareHeads(const AttentionConfig& config,
                  const StepContext& step,
                  int64_t token,
                  int64_t num_heads,
                  const std::vector<float>& norm,
                  float* heads) {
  const RotaryAngles* angles =
      config.rotary_index < 0 ? nullptr : &step.rotary[static_cast<size_t>(config.rotary_index)];
  for (int64_t head = 0; head < num_heads; ++head, heads += config.head_dim) {
    if (config.has_qk_norm) {
      ops::RmsNormRow(*step.kernels, heads, norm.data(), config.norm_epsilon, config.head_dim,
                      heads);
    }
    if (angles != nullptr) {
      const int64_t at = token * angles->half;
      step.kernels->rotate_half(heads, angles->cos.data() + at, angles->sin.data() + at,
                                angles->half);
    }
  }
}

}  // namespace

AttentionWeights LoadAttention(const AttentionConfig& config,
                               const std::string& prefix,
                               WeightLoader* loader) {
  const int64_t q_dim = config.num_heads * config.head_dim;
  const int64_t kv_dim = config.num_kv_heads * config.head_dim;
  const auto load = [&](const char* name, MatrixExtent extent, bool has_bias) {
    const std::string full = prefix + "." + name;
    return has_bias ? loader->MatrixWithBias(full, extent) : loader->Matrix(full, extent);
  };
  AttentionWeights weights;
  weights.q = load("q_proj", {q_dim, config.hidden_dim}, config.has_qkv_bias);
  weights.k = load("k_proj", {kv_dim, config.hidden_dim}, config.has_qkv_bias);
  weights.v = load("v_proj", {kv_dim, config.hidden_dim}, config.has_qkv_bias);
  weights.output = load("o_proj", {config.hidden_dim, q_dim}, config.has_output_bias);
  if (config.has_qk_norm) {
    weights.q_norm = loader->Vector(prefix + ".q_norm.weight", config.head_dim);
    weights.k_norm = loader->Vector(prefix + ".k_norm.weight", config.head_dim);
  }
  return weights;
}

AttentionBuffers::AttentionBuffers(int64_t max_tokens,
                                   int64_t max_q_dim,
                                   int64_t max_kv_dim,
                                   int num_workers)
    : q(static_cast<size_t>(max_tokens * max_q_dim)),
      k(static_cast<size_t>(max_tokens * max_kv_dim)),
      v(k.size()),
      values(q.size()),
      scratch(num_workers) {}

Status AttentionForward(const AttentionConfig& config,
                        const AttentionWeights& weights,
                        const StepContext& step,
                        const float* x,
                        float* out,
                        AttentionBuffers* buffers) {
  const int64_t num_tokens = step.num_tokens;
  const uint32_t mode = step.compute_mode;
  FT_RETURN_IF_ERROR(weights.q.Apply(x, num_tokens, buffers->q.data(), mode, step.exec));
  FT_RETURN_IF_ERROR(weights.k.Apply(x, num_tokens, buffers->k.data(), mode, step.exec));
  FT_RETURN_IF_ERROR(weights.v.Apply(x, num_tokens, buffers->v.data(), mode, step.exec));

  const KvLayerView cache = step.kv->Layer(config.cache_group, config.cache_index);
  const std::vector<ops::AttentionQuery>& queries =
      step.queries[static_cast<size_t>(config.cache_group)];
  const int64_t q_dim = config.num_heads * config.head_dim;
  const int64_t kv_dim = config.num_kv_heads * config.head_dim;
  ForEachToken(step, num_tokens, [&](int64_t token) {
    float* k = buffers->k.data() + token * kv_dim;
    PrepareHeads(config, step, token, config.num_heads, weights.q_norm,
                 buffers->q.data() + token * q_dim);
    PrepareHeads(config, step, token, config.num_kv_heads, weights.k_norm, k);
    const ops::AttentionQuery& at = queries[static_cast<size_t>(token)];
    float* row = cache.Row(at.pages[at.position / cache.page_size_tokens],
                           at.position % cache.page_size_tokens);
    std::copy_n(k, kv_dim, row);
    std::copy_n(buffers->v.data() + token * kv_dim, kv_dim, row + kv_dim);
  });

  const ops::AttentionShape shape = {.num_heads = config.num_heads,
                                     .num_kv_heads = config.num_kv_heads,
                                     .key_dim = config.head_dim,
                                     .value_dim = config.head_dim,
                                     .scale = config.scale,
                                     .window_tokens = config.window_tokens};
  ops::Attend(step.pool, *step.kernels, shape,
              {cache.base, cache.page_size_tokens, cache.row_elements},
              {queries.data(), static_cast<size_t>(num_tokens)}, buffers->q.data(),
              buffers->values.data(), &buffers->scratch);
  return weights.output.Apply(buffers->values.data(), num_tokens, out, mode, step.exec);
}

}  // namespace ft
