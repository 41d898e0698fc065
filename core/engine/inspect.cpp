// Inspect: the checks of the loader without its reading, and a report for machines and people.
#include "core/engine/inspect.h"

#include <algorithm>
#include <charconv>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/model_config.h"
#include "core/checkpoint/tensor_index.h"
#include "core/json/parse.h"
#include "core/models/registry.h"

namespace ft {
namespace {

constexpr uint64_t kMaxTemplateConfigBytes = uint64_t{64} << 20;

void Add(const std::string& set, const TensorInfo& tensor, std::vector<TensorSet>* sets) {
  auto found =
      std::find_if(sets->begin(), sets->end(), [&](const TensorSet& s) { return s.name == set; });
  if (found == sets->end()) {
    found = sets->insert(found, {set, 0, 0, tensor.name});
  }
  ++found->num_tensors;
  found->num_bytes += tensor.num_bytes;
}

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

// Fills what the check pass counted.
void ReportWeights(const TensorIndex& index, WeightSummary summary, ModelReport* report) {
  report->formats = summary.formats;
  report->dense_bytes = summary.dense_stored_bytes;
  report->expert_bytes = summary.expert_stored_bytes;
  for (const TensorInfo& tensor : index.tensors()) {
    if (summary.used.count(tensor.name) > 0) {
      if (tensor.shape.size() < 2) {
        Add(DTypeName(tensor.dtype), tensor, &report->other_used);
      }
      continue;
    }
    const bool is_expert = std::any_of(
        summary.expert_prefixes.begin(), summary.expert_prefixes.end(),
        [&](const std::string& prefix) { return StartsWith(tensor.name, prefix + "."); });
    if (!is_expert) {
      Add(KindOfUnused(tensor, summary, report->info), tensor, &report->unused);
    }
  }
}

// Which file has the chat template.
std::string TemplateKind(const std::string& dir) {
  if (FileExists(JoinPath(dir, "chat_template.jinja"))) {
    return "chat_template.jinja";
  }
  const std::string path = JoinPath(dir, "tokenizer_config.json");
  if (FileExists(path)) {
    const auto text = ReadWholeFile(path, kMaxTemplateConfigBytes);
    if (text.ok()) {
      const auto config = json::Parse(*text);
      if (config.ok() && config->Find("chat_template") != nullptr) {
        return "tokenizer_config.json";
      }
    }
  }
  return FileExists(JoinPath(dir, "chat_template.json")) ? "chat_template.json" : "none";
}

void SayWhatFtDoes(ModelReport* report) {
  if (report->servable.ok()) {
    report->can.push_back("serves text");
    report->can.push_back(report->info.num_moe_layers > 0
                              ? "places experts with any MoE backend"
                              : "has no experts: every MoE backend is accepted and unused");
  }
  if (report->servable.ok() && report->has_tokenizer && report->template_kind != "none") {
    report->can.push_back("serves chat by the model's own template");
  }
  if (!report->has_tokenizer) {
    report->cannot.push_back("no tokenizer.json: no text in or out, only token ids");
  }
  if (report->template_kind == "none") {
    report->cannot.push_back("no chat template: completions only");
  }
  for (const TensorSet& set : report->unused) {
    report->cannot.push_back(fmt::format("{} tensors ({}) are not used: {} ({}, …)",
                                         set.num_tensors, HumanBytes(set.num_bytes), set.name,
                                         set.example));
  }
}

Status CheckFamily(const ModelConfig& config,
                   const TensorIndex& index,
                   const QuantizationRegistry& quantizations,
                   ModelReport* report) {
  ModelRegistry families;
  RegisterBuiltinModels(&families);
  FT_ASSIGN_OR_RETURN(const ModelFamily* family, families.Find(config));
  FT_ASSIGN_OR_RETURN(const auto builder, family->read_config(config));
  report->has_info = true;
  report->info = builder->info();
  WeightLoader loader({.index = &index, .formats = &quantizations});
  builder->CheckWeights(&loader);
  FT_RETURN_IF_ERROR(loader.status());
  ReportWeights(index, loader.TakeSummary(), report);
  return {};
}

}  // namespace

Result<ModelReport> InspectModel(const std::string& dir,
                                 const QuantizationRegistry& quantizations) {
  ModelReport report;
  report.dir = dir;
  FT_ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig(dir));
  FT_ASSIGN_OR_RETURN(const TensorIndex index, TensorIndex::Open(dir));
  report.architecture = config.architecture;
  report.model_type = config.model_type;
  report.num_files = static_cast<int64_t>(index.files().size());
  report.num_tensors = static_cast<int64_t>(index.tensors().size());
  for (const CheckpointFile& file : index.files()) {
    report.file_bytes += file.num_bytes;
  }
  for (const TensorInfo& tensor : index.tensors()) {
    Add(DTypeName(tensor.dtype), tensor, &report.dtypes);
  }
  report.ignored_keys = ConfigReader(config.text(), config.text_where()).HarmlessKeys();
  report.stop_ids = CollectStopIds(config, {});
  report.has_tokenizer = FileExists(JoinPath(dir, "tokenizer.json"));
  report.template_kind = TemplateKind(dir);
  report.servable = CheckFamily(config, index, quantizations, &report);
  SayWhatFtDoes(&report);
  return report;
}

}  // namespace ft
