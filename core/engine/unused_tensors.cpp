// Unused tensors, told apart by their names.
#include "core/engine/unused_tensors.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace ft {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The N of "model.layers.N.…", or -1.
int64_t LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "model.layers.";
  int64_t layer = -1;
  if (StartsWith(name, kPrefix)) {
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  }
  return layer;
}

// Why a tensor that no weight of the model uses is there.
std::string KindOfUnused(const TensorInfo& tensor,
                         const WeightSummary& summary,
                         const ModelInfo& info) {
  const std::string_view name = tensor.name;
  if (summary.known_unused.count(name) > 0) {
    return "activation and cache scales";
  }
  for (const char* part : {"visual", "vision", "image", "multi_modal", "audio"}) {
    if (Contains(name, part)) {
      return "vision and audio";
    }
  }
  if (Contains(name, "mtp") || LayerOf(name) >= info.num_layers) {
    return "multi-token prediction";
  }
  if (Contains(name, "rotary_emb")) {
    return "rope frequencies";
  }
  if (StartsWith(name, "lm_head")) {
    return "output matrix, tied to the embedding by the config";
  }
  return "unknown";
}

}  // namespace

void AddToSet(const std::string& name, const TensorInfo& tensor, std::vector<TensorSet>* sets) {
  auto found =
      std::find_if(sets->begin(), sets->end(), [&](const TensorSet& s) { return s.name == name; });
  if (found == sets->end()) {
    found = sets->insert(found, {name, 0, 0, tensor.name});
  }
  ++found->num_tensors;
  found->num_bytes += tensor.num_bytes;
}

std::vector<TensorSet> UnusedTensors(const TensorIndex& index,
                                     const WeightSummary& summary,
                                     const ModelInfo& info) {
  std::vector<TensorSet> sets;
  for (const TensorInfo& tensor : index.tensors()) {
    const bool is_expert = std::any_of(
        summary.expert_prefixes.begin(), summary.expert_prefixes.end(),
        [&](const std::string& prefix) { return StartsWith(tensor.name, prefix + "."); });
    if (!is_expert && summary.used.count(tensor.name) == 0) {
      AddToSet(KindOfUnused(tensor, summary, info), tensor, &sets);
    }
  }
  return sets;
}

}  // namespace ft
