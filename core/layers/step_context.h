// StepContext: what every layer of one forward needs beside its weights: threads, modes, where the
// tokens stand and where their cache rows are. Filled once per forward, read by all layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ft/plugin/host_services.h"

#include "core/base/thread_pool.h"
#include "core/kv_memory/kv_memory.h"
#include "core/ops/attention.h"
#include "core/ops/kernels.h"

namespace ft {

/// Cosines and sines of one rope kind for the tokens of a step.
struct RotaryAngles {
  int64_t half = 0;
  std::vector<float> cos;  ///< [max_tokens, half]
  std::vector<float> sin;  ///< [max_tokens, half]
};

struct StepContext {
  ThreadPool* pool = nullptr;
  ft_exec exec = {};
  const ops::Kernels* kernels = nullptr;
  uint32_t compute_mode = 0;
  bool is_deterministic = false;
  int64_t num_tokens = 0;
  KvMemory* kv = nullptr;
  std::vector<RotaryAngles> rotary;  ///< [rope kinds of the model]
  /// [cache groups][num_tokens]: position and page table of each token.
  std::vector<std::vector<ops::AttentionQuery>> queries;
};

/// Runs `body(token)` for each token of the step on all workers.
template <typename Body>
void ForEachToken(const StepContext& step, int64_t num_tokens, const Body& body) {
  step.pool->ParallelFor(static_cast<uint64_t>(num_tokens), 1,
                         [&](uint32_t /*worker*/, uint64_t begin, uint64_t end) {
                           for (uint64_t token = begin; token < end; ++token) {
                             body(static_cast<int64_t>(token));
                           }
                         });
}

}  // namespace ft
