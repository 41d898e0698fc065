// Mlp: the gated feed-forward net of a dense layer: down(activation(gate x) * up x).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/layers/linear.h"
#include "core/layers/step_context.h"
#include "core/layers/weight_loader.h"
#include "core/ops/activation.h"

namespace ft {

struct MlpConfig {
  int64_t hidden_dim = 0;
  int64_t intermediate_dim = 0;
  ops::Activation activation = ops::Activation::kSilu;
  bool has_bias = false;
};

struct MlpWeights {
  Linear gate, up, down;
};

/// `prefix`: "model.layers.0.mlp".
MlpWeights LoadMlp(const MlpConfig& config, const std::string& prefix, WeightLoader* loader);

/// Working memory; layers share one.
struct MlpBuffers {
  MlpBuffers(int64_t max_tokens, int64_t max_intermediate_dim);

  std::vector<float> gate;  ///< [max_tokens, intermediate_dim]
  std::vector<float> up;    ///< the same
};

/// `x`, `out`  [num_tokens, hidden_dim]; out is overwritten and is not x
Status MlpForward(const MlpConfig& config,
                  const MlpWeights& weights,
                  const StepContext& step,
                  const float* x,
                  float* out,
                  MlpBuffers* buffers);

}  // namespace ft
