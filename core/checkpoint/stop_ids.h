// StopIds: which tokens end a reply, from every place that names one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/model_config.h"

namespace ft {

struct StopId {
  int64_t id = 0;
  std::vector<std::string> sources;  ///< "config.json", "generation_config.json", "tokenizer"
};

/// The union of config.json's and generation_config.json's eos ids and the tokenizer's end-of-turn
/// tokens, sorted by id, each with its sources. Negative ids are left out.
std::vector<StopId> CollectStopIds(const ModelConfig& config,
                                   std::span<const int64_t> tokenizer_eos_ids);

}  // namespace ft
