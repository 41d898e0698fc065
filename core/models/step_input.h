// From a ForwardInput to what layers read: checks it once, then positions, page tables and angles
// per token. Shared by all families.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/layers/rotary.h"
#include "core/layers/step_context.h"
#include "core/models/model.h"

namespace ft {

struct ForwardLimits {
  int64_t max_tokens = 0;
  int64_t max_logit_rows = 0;
  int max_sequences = 0;
};

/// Errors: kInvalidArgument for a batch beyond the limits, token counts that do not add up, ids
/// outside the vocabulary, rows outside the batch, page tables that are too short or name pages
/// that the cache does not have (pages before a group's window are not looked at).
Status CheckForwardInput(const ForwardInput& input,
                         const ModelInfo& info,
                         const ForwardLimits& limits,
                         const KvMemory& kv);

/// Takes the memory that FillStep fills.
void PrepareStep(const std::vector<Rotary>& rotaries,
                 size_t num_cache_groups,
                 int64_t max_tokens,
                 StepContext* step);

/// Fills num_tokens, queries and rotary. Allocates nothing after PrepareStep.
void FillStep(const ForwardInput& input, const std::vector<Rotary>& rotaries, StepContext* step);

}  // namespace ft
