#include "core/moe/moe_layer.h"

#include "core/base/check.h"

namespace ft {
namespace {

// What one worker of the top-k loop needs.
struct TopKArgs {
  const RouterOptions* options;
  const RouterWeights* weights;
  MoeScratch* scratch;
};

void TopKRange(void* raw, uint32_t /*worker*/, uint64_t begin, uint64_t end) {
  const auto& args = *static_cast<const TopKArgs*>(raw);
  const int num_experts = args.options->num_experts;
  const auto first = static_cast<int64_t>(begin);
  const auto count = static_cast<int64_t>(end - begin);
  float* logits = args.scratch->logits() + first * num_experts;
  if (args.weights->logit_bias != nullptr) {
    for (int64_t token = 0; token < count; ++token) {
      for (int expert = 0; expert < num_experts; ++expert) {
        logits[token * num_experts + expert] += args.weights->logit_bias[expert];
      }
    }
  }
  TopK(*args.options, count, logits, args.weights->choice_bias,
       args.scratch->expert_ids() + first * args.options->top_k,
       args.scratch->expert_weights() + first * args.options->top_k);
}

}  // namespace

MoeScratch::MoeScratch(int64_t max_tokens, int max_experts, int max_top_k)
    : max_tokens_(max_tokens) {
  const auto tokens = static_cast<size_t>(max_tokens);
  logits_.resize(tokens * static_cast<size_t>(max_experts));
  expert_ids_.resize(tokens * static_cast<size_t>(max_top_k));
  expert_weights_.resize(tokens * static_cast<size_t>(max_top_k));
}

uint64_t MoeScratch::Bytes(int64_t max_tokens, int max_experts, int max_top_k) {
  return static_cast<uint64_t>(max_tokens) *
         (static_cast<uint64_t>(max_experts) + 2 * static_cast<uint64_t>(max_top_k)) *
         sizeof(float);
}

Status MoeLayer::Forward(const MoeLayerInput& input,
                         const ft_exec& exec,
                         MoeBackend* backend,
                         MoeScratch* scratch) const {
  FT_CHECK(input.num_tokens <= scratch->max_tokens());
  if (input.num_tokens == 0) {
    return Status();
  }
  ft_matmul_args matmul = {};
  matmul.hdr = {sizeof(matmul), FT_TAG_MATMUL_ARGS, nullptr};
  matmul.layout = weights.layout;
  matmul.mode = FT_COMPUTE_EXACT;
  matmul.rows = router.num_experts;
  matmul.cols = hidden_dim;
  matmul.n_tokens = input.num_tokens;
  matmul.weights = weights.packed;
  matmul.x = input.x;
  matmul.x_stride = input.x_stride;
  matmul.y = scratch->logits();
  matmul.y_stride = router.num_experts;
  matmul.exec = &exec;
  FT_RETURN_IF_ERROR(weights.format->Matmul(matmul));
  TopKArgs args = {&router, &weights, scratch};
  exec.parallel_for(exec.ctx, static_cast<uint64_t>(input.num_tokens), 64, TopKRange, &args);
  MoeForward forward;
  forward.layer_id = layer_id;
  forward.num_tokens = input.num_tokens;
  forward.x = input.x;
  forward.x_stride = input.x_stride;
  forward.expert_ids = scratch->expert_ids();
  forward.expert_weights = scratch->expert_weights();
  forward.out = input.out;
  forward.out_stride = input.out_stride;
  forward.compute_mode = input.compute_mode;
  forward.is_deterministic = input.is_deterministic;
  return backend->Forward(forward);
}

}  // namespace ft
