// The gated feed-forward net.
#include "core/layers/mlp.h"

namespace ft {

MlpWeights LoadMlp(const MlpConfig& config, const std::string& prefix, WeightLoader* loader) {
  const auto load = [&](const char* name, MatrixExtent extent) {
    const std::string full = prefix + "." + name;
    return config.has_bias ? loader->MatrixWithBias(full, extent) : loader->Matrix(full, extent);
  };
  MlpWeights weights;
  weights.gate = load("gate_proj", {config.intermediate_dim, config.hidden_dim});
  weights.up = load("up_proj", {config.intermediate_dim, config.hidden_dim});
  weights.down = load("down_proj", {config.hidden_dim, config.intermediate_dim});
  return weights;
}

MlpBuffers::MlpBuffers(int64_t max_tokens, int64_t max_intermediate_dim)
    : gate(static_cast<size_t>(max_tokens * max_intermediate_dim)), up(gate.size()) {}

Status MlpForward(const MlpConfig& config,
                  const MlpWeights& weights,
                  const StepContext& step,
                  const float* x,
                  float* out,
                  MlpBuffers* buffers) {
  const int64_t num_tokens = step.num_tokens;
  const uint32_t mode = step.compute_mode;
  FT_RETURN_IF_ERROR(weights.gate.Apply(x, num_tokens, buffers->gate.data(), mode, step.exec));
  FT_RETURN_IF_ERROR(weights.up.Apply(x, num_tokens, buffers->up.data(), mode, step.exec));
  const int64_t dim = config.intermediate_dim;
  ForEachToken(step, num_tokens, [&](int64_t token) {
    float* gate = buffers->gate.data() + token * dim;
    ops::GatedActivation(*step.kernels, config.activation, gate, buffers->up.data() + token * dim,
                         dim, gate);
  });
  return weights.down.Apply(buffers->gate.data(), num_tokens, out, mode, step.exec);
}

}  // namespace ft
