// Which experts a token goes to, from the router's logits. Pure functions over f32; the matmul that
// makes the logits is moe_layer.h. Source: ../shared/reference/models.md §0.5 (S, T and G).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"

namespace ft {

enum class RouterKind {
  kSoftmaxTopK,     ///< S: softmax over all experts, then top k
  kTopKSoftmax,     ///< T: top k of the logits, softmax over those
  kGroupedSigmoid,  ///< G: sigmoid; a bias moves the choice; best groups first
};

struct RouterOptions {
  RouterKind kind = RouterKind::kSoftmaxTopK;
  int num_experts = 0;
  int top_k = 0;
  bool has_renormalization = false;    ///< S, G: weights of the chosen are divided by their sum
  double renormalization_epsilon = 0;  ///< added to that sum (G of DeepSeek: 1e-20)
  int num_groups = 1;                  ///< G: consecutive groups of equal size
  int top_k_groups = 1;                ///< G: groups kept
  double scaling_factor = 1;           ///< multiplies the final weights
};

/// Errors: kInvalidArgument: counts out of range, groups that do not divide the experts.
Status CheckRouterOptions(const RouterOptions& options);

/// Chooses for each token, best first; ties go to the lower expert. NaN counts as lowest. A token's
/// result depends on its logits alone.
/// `logits`   [num_tokens, num_experts] f32, overwritten (working memory)
/// `bias`     [num_experts] f32, G only, or null: added for the choice, never to a weight
/// `ids`      [num_tokens, top_k], `weights` [num_tokens, top_k]
/// Requires: CheckRouterOptions is ok.
void TopK(const RouterOptions& options,
          int64_t num_tokens,
          float* logits,
          const float* bias,
          int32_t* ids,
          float* weights);

}  // namespace ft
