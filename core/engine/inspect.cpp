// Inspect: the checks of the loader without its reading, and a report for machines and people.
#include "core/engine/inspect.h"

#include <optional>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/model_config.h"
#include "core/checkpoint/tensor_index.h"
#include "core/json/parse.h"
#include "core/models/registry.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft {
namespace {

constexpr uint64_t kMaxTemplateConfigBytes = uint64_t{64} << 20;

// Fills what the check pass counted.
void ReportWeights(const TensorIndex& index, const WeightSummary& summary, ModelReport* report) {
  report->formats = summary.formats;
  report->dense_bytes = summary.dense_stored_bytes;
  report->expert_bytes = summary.expert_stored_bytes;
  report->unused = UnusedTensors(index, summary, report->info);
  for (const TensorInfo& tensor : index.tensors()) {
    if (summary.used.count(tensor.name) > 0 && tensor.shape.size() < 2) {
      AddToSet(DTypeName(tensor.dtype), tensor, &report->other_used);
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

// The tokenizer's end-of-turn token. A tokenizer that ft cannot read makes the model unservable.
std::vector<int64_t> TokenizerStopIds(ModelReport* report) {
  if (!report->has_tokenizer) {
    return {};
  }
  const auto tokenizer = text::Tokenizer::Load(report->dir);
  if (!tokenizer.ok()) {
    if (report->servable.ok()) {
      report->servable = tokenizer.status();
    }
    return {};
  }
  const std::optional<text::NamedToken>& eos = (*tokenizer)->config().eos_token;
  return eos && eos->id ? std::vector<int64_t>{*eos->id} : std::vector<int64_t>{};
}

// A template that does not parse makes the model unservable, as `ft serve` refuses it too.
void CheckTemplates(ModelReport* report) {
  const auto templates = text::ChatTemplateSet::Load(report->dir);
  if (!templates.ok() && report->servable.ok()) {
    report->servable = templates.status();
  }
}

void SayWhatFtDoes(ModelReport* report) {
  if (report->servable.ok()) {
    if (report->has_tokenizer) {
      report->can.emplace_back("serves text");
    }
    report->can.emplace_back("evaluates token ids (ft eval logits)");
    report->can.emplace_back(report->info.num_moe_layers > 0
                                 ? "places experts with any MoE backend"
                                 : "has no experts: every MoE backend is accepted and unused");
  }
  if (report->servable.ok() && report->has_tokenizer && report->template_kind != "none") {
    report->can.emplace_back("serves chat by the model's own template");
  }
  if (!report->has_tokenizer) {
    report->cannot.emplace_back(
        "no tokenizer.json: ft serve refuses it, only token ids can be evaluated");
  }
  if (report->template_kind == "none") {
    report->cannot.emplace_back("no chat template: completions only");
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
  FT_RETURN_IF_ERROR(CheckModelFolder(dir));
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
    AddToSet(DTypeName(tensor.dtype), tensor, &report.dtypes);
  }
  report.ignored_keys = ConfigReader(config.text(), config.text_where()).HarmlessKeys();
  report.has_tokenizer = FileExists(JoinPath(dir, "tokenizer.json"));
  report.template_kind = TemplateKind(dir);
  report.servable = CheckFamily(config, index, quantizations, &report);
  const auto tokenizer_stop_ids = TokenizerStopIds(&report);
  CheckTemplates(&report);
  report.stop_ids = CollectStopIds(config, tokenizer_stop_ids);
  SayWhatFtDoes(&report);
  return report;
}

}  // namespace ft
