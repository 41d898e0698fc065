#include "core/engine/kv_plan.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/file.h"

namespace ft {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Pages of one group when a full group holds `pool_tokens`: a windowed group never needs more than
// its window, a chunk and the pages cut at both ends, for each running sequence.
int64_t GroupPages(const CacheGroup& group, const KvPlanRequest& request, int64_t pool_tokens) {
  const int64_t all = CeilDiv(pool_tokens, request.page_size_tokens);
  if (group.window_tokens == 0) {
    return all;
  }
  const int64_t each =
      CeilDiv(group.window_tokens + request.max_prefill_tokens, request.page_size_tokens) + 2;
  return std::min(all, each * request.max_running);
}

KvMemoryOptions MemoryFor(const ModelInfo& info,
                          const KvPlanRequest& request,
                          int64_t pool_tokens) {
  KvMemoryOptions memory;
  memory.page_size_tokens = request.page_size_tokens;
  memory.num_state_slots = info.recurrent_blocks.empty() ? 0 : request.max_running;
  for (const CacheGroup& group : info.cache_groups) {
    memory.num_pages.push_back(GroupPages(group, request, pool_tokens));
  }
  return memory;
}

Result<uint64_t> BytesFor(const ModelInfo& info,
                          const KvPlanRequest& request,
                          int64_t pool_tokens) {
  return KvMemoryBytes(info.cache_groups, info.recurrent_blocks,
                       MemoryFor(info, request, pool_tokens));
}

// The largest pool of at most `want` tokens that fits, found by halving the doubt; page granular.
Result<int64_t> LargestPool(const ModelInfo& info, const KvPlanRequest& request, int64_t want) {
  int64_t fits = 0;
  int64_t too_many = CeilDiv(want, request.page_size_tokens) + 1;
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    FT_ASSIGN_OR_RETURN(const uint64_t bytes,
                        BytesFor(info, request, middle * request.page_size_tokens));
    if (request.available_bytes == 0 || bytes <= request.available_bytes) {
      fits = middle;
    } else {
      too_many = middle;
    }
  }
  return fits * request.page_size_tokens;
}

Status CheckRequest(const KvPlanRequest& request) {
  if (request.num_pages.has_value() && request.num_tokens.has_value()) {
    return InvalidArgument("--num-pages and --num-tokens say the same thing twice; give one");
  }
  if (request.num_tokens.has_value() && *request.num_tokens % request.page_size_tokens != 0) {
    return InvalidArgument("--num-tokens {} is no multiple of the page size {}",
                           *request.num_tokens, request.page_size_tokens);
  }
  return Status();
}

Result<int64_t> PoolTokens(const ModelInfo& info,
                           const KvPlanRequest& request,
                           int64_t window,
                           KvPlan* plan) {
  if (request.num_tokens.has_value() || request.num_pages.has_value()) {
    const int64_t tokens =
        request.num_tokens.value_or(request.num_pages.value_or(0) * request.page_size_tokens);
    if (request.max_seq_len.has_value() && *request.max_seq_len > tokens) {
      return FailedPrecondition(
          "--max-seq-len-override {} needs a cache of as many tokens, but --num-tokens (or "
          "--num-pages) "
          "gives {}; raise one or lower the other",
          *request.max_seq_len, tokens);
    }
    FT_ASSIGN_OR_RETURN(const uint64_t bytes, BytesFor(info, request, tokens));
    if (request.available_bytes > 0 && bytes > request.available_bytes) {
      return ResourceExhausted(
          "a cache of {} tokens needs {}, but {} are left for it; it is short of {}. "
          "Lower --num-tokens",
          tokens, HumanBytes(bytes), HumanBytes(request.available_bytes),
          HumanBytes(bytes - request.available_bytes));
    }
    return tokens;
  }
  const int64_t want = window * request.max_running;
  FT_ASSIGN_OR_RETURN(const int64_t tokens, LargestPool(info, request, want));
  const int64_t least =
      request.max_seq_len.has_value() ? window : std::min(window, request.kv_reserve_tokens);
  if (tokens < least) {
    FT_ASSIGN_OR_RETURN(const uint64_t bytes, BytesFor(info, request, least));
    return ResourceExhausted(
        "a cache of {} tokens needs {}, but {} are left for it beside the weights; it is short of "
        "{}. The "
        "largest that fits is {} tokens: try {} {}",
        least, HumanBytes(bytes), HumanBytes(request.available_bytes),
        HumanBytes(bytes - request.available_bytes), tokens,
        request.max_seq_len.has_value() ? "--max-seq-len-override" : "--kv-reserve-tokens", tokens);
  }
  if (tokens < want) {
    plan->notes.push_back(
        fmt::format("the cache holds {} tokens: memory for {} requests of {} would be {}", tokens,
                    request.max_running, window, want));
  }
  return tokens;
}

}  // namespace

Result<KvPlan> MakeKvPlan(const ModelInfo& info, const KvPlanRequest& request) {
  FT_RETURN_IF_ERROR(CheckRequest(request));
  KvPlan plan;
  const int64_t window = request.max_seq_len.value_or(info.max_positions);
  if (window <= 0) {
    return InvalidArgument(
        "the model does not say how many positions it has; give --max-seq-len-override");
  }
  if (info.max_positions > 0 && window > info.max_positions) {
    plan.notes.push_back(fmt::format(
        "--max-seq-len-override {} is more than the model's {} positions: positions beyond {} "
        "were never trained",
        window, info.max_positions, info.max_positions));
  }
  FT_ASSIGN_OR_RETURN(plan.pool_tokens, PoolTokens(info, request, window, &plan));
  plan.memory = MemoryFor(info, request, plan.pool_tokens);
  FT_ASSIGN_OR_RETURN(plan.num_bytes,
                      KvMemoryBytes(info.cache_groups, info.recurrent_blocks, plan.memory));
  plan.scheduler.max_running = request.max_running;
  plan.scheduler.max_queued = request.max_queued;
  plan.scheduler.max_prefill_tokens = request.max_prefill_tokens;
  plan.scheduler.page_size_tokens = request.page_size_tokens;
  for (size_t i = 0; i < info.cache_groups.size(); ++i) {
    plan.scheduler.groups.push_back({.num_pages = plan.memory.num_pages[i],
                                     .window_tokens = info.cache_groups[i].window_tokens});
  }
  const int64_t holds = Scheduler(plan.scheduler).max_sequence_tokens();
  plan.max_model_len = std::min({window, holds, plan.pool_tokens});
  return plan;
}

}  // namespace ft
