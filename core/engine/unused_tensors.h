// Which tensors of a checkpoint no part of the served model uses, and why they are there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_index.h"
#include "core/layers/weight_loader.h"
#include "core/models/model.h"

namespace ft {

/// Tensors that have something in common: a dtype, or why nothing uses them.
struct TensorSet {
  std::string name;  ///< "BF16", "vision and audio", "unknown"
  int64_t num_tensors = 0;
  uint64_t num_bytes = 0;
  std::string example;  ///< one tensor's name
};

/// Counts `tensor` in the set called `name`.
void AddToSet(const std::string& name, const TensorInfo& tensor, std::vector<TensorSet>* sets);

/// By the check pass's summary. "unknown": what ft has no word for.
std::vector<TensorSet> UnusedTensors(const TensorIndex& index,
                                     const WeightSummary& summary,
                                     const ModelInfo& info);

}  // namespace ft
