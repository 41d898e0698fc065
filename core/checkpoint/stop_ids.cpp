#include "core/checkpoint/stop_ids.h"

#include <map>

namespace ft {
namespace {

using SourcesById = std::map<int64_t, std::vector<std::string>>;

void Add(std::span<const int64_t> ids, const char* source, SourcesById* all) {
  for (const int64_t id : ids) {
    if (id < 0) {
      continue;  // -1 stands for "none" in some configs
    }
    std::vector<std::string>& sources = (*all)[id];
    if (sources.empty() || sources.back() != source) {
      sources.emplace_back(source);
    }
  }
}

}  // namespace

std::vector<StopId> CollectStopIds(const ModelConfig& config,
                                   std::span<const int64_t> tokenizer_eos_ids) {
  SourcesById all;
  Add(config.eos_token_ids, "config.json", &all);
  Add(config.generation.eos_token_ids, "generation_config.json", &all);
  Add(tokenizer_eos_ids, "tokenizer", &all);
  std::vector<StopId> stop_ids;
  for (auto& [id, sources] : all) {
    stop_ids.push_back({id, std::move(sources)});
  }
  return stop_ids;
}

}  // namespace ft
