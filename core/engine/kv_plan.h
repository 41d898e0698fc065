// KvPlan: how many cache pages there are and how long a request may be, from the model's
// declaration, the user's limits and the memory there is. Pure arithmetic; the engine, the server
// and `ft config` use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/model_engine.h"
#include "core/kv_memory/cache_layout.h"
#include "core/models/model.h"

namespace ft {

/// What the user asked for. Nothing set: decided here, and said in `notes`.
struct KvPlanRequest {
  std::optional<int64_t> max_seq_len = {};  ///< --max-seq-len-override, tokens
  std::optional<int64_t> num_pages = {};    ///< --num-pages
  std::optional<int64_t> num_tokens = {};   ///< --num-tokens; a multiple of the page size
  int64_t kv_reserve_tokens =
      8192;  ///< kept free for the cache before expert slots are given memory
  int64_t page_size_tokens = 16;
  int64_t max_prefill_tokens = 8192;
  int max_running = 4;
  int64_t max_queued = 1024;
  uint64_t available_bytes =
      0;  ///< for the cache, weights already taken off; 0 = not known, no limit
};

struct KvPlan {
  KvMemoryOptions memory;
  SchedulerOptions scheduler;
  int64_t max_model_len = 0;       ///< the served window
  int64_t pool_tokens = 0;         ///< what a full (unwindowed) group holds
  uint64_t num_bytes = 0;          ///< of cache and state
  std::vector<std::string> notes;  ///< one line each, for the log
};

/// Errors: kInvalidArgument: two of num_pages and num_tokens, or a value out of range;
/// kFailedPrecondition: an explicit window that the explicit pool cannot hold; kResourceExhausted:
/// even the smallest cache does not fit (bytes needed, bytes there, the setting that works).
Result<KvPlan> MakeKvPlan(const ModelInfo& info, const KvPlanRequest& request);

}  // namespace ft
