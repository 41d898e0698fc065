// Model: one loaded model family instance, and what it declares about itself. A family knows layers
// and weights' names; it never knows where experts live, how weights are encoded, or who shares its
// batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/kv_memory/cache_layout.h"

namespace ft {

class KvMemory;

/// What a model is, for everyone who plans, schedules or shows it. Known from config.json alone.
struct ModelInfo {
  std::string family;  ///< folder under core/models
  int num_layers = 0;
  int num_moe_layers = 0;
  int num_experts = 0;  ///< of the layer kind with most layers; 0 = dense
  int top_k = 0;
  int64_t hidden_dim = 0;
  int64_t vocab_size = 0;     ///< rows of the logits
  int64_t max_positions = 0;  ///< what the model was trained for
  std::vector<CacheGroup> cache_groups;
  std::vector<RecurrentBlock> recurrent_blocks;
  int history_tokens = 0;  ///< how many earlier token ids Forward wants to see (n-gram tables)
};

/// One sequence's share of a forward.
struct SequenceInput {
  int64_t start_position =
      0;                   ///< tokens of it already in the cache; its first token has this position
  int32_t num_tokens = 0;  ///< > 0
  /// [cache group][page index] -> page id; covers start_position + num_tokens tokens. Pages wholly
  /// before the group's window may be -1.
  std::vector<std::span<const int32_t>> page_tables;
  /// Tokens of the whole prompt, all chunks; 0 where there is none. Rope kinds that look at the
  /// length (dynamic, longrope) use max(prompt_tokens, position + 1), so that chunks agree.
  int64_t prompt_tokens = 0;
  int32_t state_slot = -1;           ///< recurrent blocks; -1 where the model has none
  std::span<const int32_t> history;  ///< the last `history_tokens` ids before its first token
};

struct ForwardInput {
  std::span<const int32_t> tokens;           ///< [num_tokens] of all sequences, one after another
  std::span<const SequenceInput> sequences;  ///< their num_tokens add up to tokens.size()
  std::span<const int32_t> logit_rows;       ///< indices into tokens whose logits are wanted
  uint32_t compute_mode = 0;                 ///< FT_COMPUTE_*
  bool is_deterministic = false;
};

/// A model with its weights. One Forward at a time.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;

  /// Most tokens, and most logit rows, that one Forward takes. Fixed when the model was loaded.
  virtual int64_t max_tokens() const = 0;
  virtual int64_t max_logit_rows() const = 0;

  /// Runs all layers, writes K/V through the page tables, and the wanted logits.
  /// `logits`  [logit_rows.size(), vocab_size] f32, overwritten
  /// What a sequence gets does not depend on the others in the batch, nor on how its tokens were
  /// cut into chunks. Allocates nothing after the first call of its size (the plan's max_tokens).
  /// Errors: kInvalidArgument for a token id outside the vocabulary or a batch larger than the
  /// limits (nothing was written); those of kernels and backends; the cache rows of this batch are
  /// then undefined.
  virtual Status Forward(const ForwardInput& input, KvMemory* kv, float* logits) = 0;
};

}  // namespace ft
