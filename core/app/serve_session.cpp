#include "core/app/serve_session.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "core/app/serve_options.h"
#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory_info.h"
#include "core/checkpoint/hub_cache.h"
#include "core/json/parse.h"
#include "core/plugin_host/plugin_commands.h"

namespace ft::app {
namespace {

std::string FolderName(const std::string& dir) {
  const std::filesystem::path path = std::filesystem::weakly_canonical(dir);
  return path.filename().empty() ? path.parent_path().filename().string()
                                 : path.filename().string();
}

json::Value ChoiceDocument(const std::string& value, const std::string& reason) {
  json::Value document = json::Value::MakeObject();
  document.Set("value", json::Value(value));
  document.Set("reason", json::Value(reason));
  return document;
}

json::Value ParserDocument(const text::ParserChoice& choice) {
  return ChoiceDocument(choice.parser == nullptr ? "none" : choice.parser->name(), choice.reason);
}

json::Value SamplingDocument(const SamplingParams& params) {
  json::Value document = json::Value::MakeObject();
  document.Set("temperature", json::Value(params.temperature));
  document.Set("top_p", json::Value(params.top_p));
  document.Set("top_k", json::Value(params.top_k));
  document.Set("min_p", json::Value(params.min_p));
  document.Set("repetition_penalty", json::Value(params.repetition_penalty));
  document.Set("presence_penalty", json::Value(params.presence_penalty));
  document.Set("frequency_penalty", json::Value(params.frequency_penalty));
  return document;
}

json::Value KvDocument(const KvPlan& plan) {
  json::Value document = json::Value::MakeObject();
  document.Set("max_model_len", json::Value(plan.max_model_len));
  document.Set("pool_tokens", json::Value(plan.pool_tokens));
  document.Set("page_size_tokens", json::Value(plan.memory.page_size_tokens));
  document.Set("num_bytes", json::Value(plan.num_bytes));
  json::Value notes = json::Value::MakeArray();
  for (const std::string& note : plan.notes) {
    notes.Append(json::Value(note));
  }
  document.Set("notes", std::move(notes));
  return document;
}

json::Value FormatsDocument(const std::vector<FormatUse>& formats) {
  json::Value list = json::Value::MakeArray();
  for (const FormatUse& use : formats) {
    json::Value entry = json::Value::MakeObject();
    entry.Set("format", json::Value(use.format));
    entry.Set("origin", json::Value(use.origin));
    entry.Set("num_matrices", json::Value(use.num_matrices));
    entry.Set("stored_bytes", json::Value(use.stored_bytes));
    list.Append(std::move(entry));
  }
  return list;
}

}  // namespace

json::Value SettingsDocument(const Settings& settings) {
  json::Value list = json::Value::MakeArray();
  for (const OptionSpec& spec : settings.specs()) {
    const Setting& setting = settings.Get(spec.name);
    json::Value entry = json::Value::MakeObject();
    entry.Set("name", json::Value(spec.name));
    json::Value value;
    if (!setting.values.empty() && spec.is_secret) {
      value = json::Value("(set)");
    } else if (spec.type == OptionType::kList) {
      value = json::Value::MakeArray();
      for (const std::string& text : setting.values) {
        value.Append(json::Value(text));
      }
    } else if (!setting.values.empty()) {
      value = json::Value(setting.values[0]);
    }
    entry.Set("value", std::move(value));
    entry.Set("origin", json::Value(setting.origin));
    list.Append(std::move(entry));
  }
  return list;
}

ServeSession::ServeSession(const Settings& settings) : settings_(settings) {}

ServeSession::~ServeSession() {
  engine_.reset();  // before what it leans on
}

void ServeSession::StopEngine() {
  if (engine_ != nullptr) {
    engine_->Stop();
  }
}

std::string ServeSession::served_name() const {
  std::string given = settings_.String("served-model-name");
  if (!given.empty()) {
    return given;
  }
  // A hub id's folder is named by its commit: clients know the id.
  return DirectoryExists(model_) ? FolderName(dir_) : model_.substr(0, model_.find('@'));
}

Status ServeSession::Check(const std::string& model) {
  if (settings_.IsSet("default-chat-template-kwargs")) {
    Result<json::Value> kwargs = json::Parse(settings_.String("default-chat-template-kwargs"));
    if (!kwargs.ok() || !kwargs->is_object()) {
      return InvalidArgument("--default-chat-template-kwargs must be a JSON object{}",
                             kwargs.ok() ? "" : ": " + kwargs.status().message());
    }
    for (const char* const reserved : {"messages", "tools", "chat_template"}) {
      if (kwargs->Find(reserved) != nullptr) {
        return InvalidArgument("--default-chat-template-kwargs: {} comes from each request",
                               reserved);
      }
    }
    template_kwargs_ = std::move(*kwargs);
  }
  model_ = model;
  FT_ASSIGN_OR_RETURN(dir_, ResolveModelPath(model));
  FT_ASSIGN_OR_RETURN(registries_, LoadPlugins(settings_));
  FT_ASSIGN_OR_RETURN(load_options_, MakeLoadOptions(settings_, *registries_));
  FT_ASSIGN_OR_RETURN(report_, InspectModel(dir_, registries_->quantizations));
  FT_RETURN_IF_ERROR(report_.servable);
  FT_RETURN_IF_ERROR(PlanMemory());
  // The text side is checked now too: a wrong parser's name must not wait for the weights.
  FT_ASSIGN_OR_RETURN(text_,
                      ModelText::Load({.dir = dir_,
                                       .reasoning_parser = settings_.String("reasoning-parser"),
                                       .tool_call_parser = settings_.String("tool-call-parser")},
                                      registries_->parsers, report_.info.vocab_size));
  PublishConfig();
  return Status();
}

Status ServeSession::PlanMemory() {
  KvPlanRequest request = MakeKvPlanRequest(settings_);
  const MemoryInfo memory = ReadMemoryInfo();
  const auto usable = static_cast<uint64_t>(static_cast<double>(memory.available_bytes) *
                                            settings_.Float("memory-ratio"));
  // The cache comes before expert slots: with all experts in memory it gets what they leave, else
  // half of what the dense weights leave.
  const uint64_t weights = report_.dense_bytes + report_.expert_bytes;
  if (weights < usable) {
    request.available_bytes = usable - weights;
  } else if (report_.dense_bytes < usable) {
    request.available_bytes = (usable - report_.dense_bytes) / 2;
  } else {
    return ResourceExhausted(
        "the dense weights take {}, but {} may be used ({} of {} free, --memory-ratio {}); it is "
        "short of {}",
        HumanBytes(report_.dense_bytes), HumanBytes(usable), HumanBytes(usable),
        HumanBytes(memory.available_bytes), settings_.String("memory-ratio"),
        HumanBytes(report_.dense_bytes - usable));
  }
  FT_ASSIGN_OR_RETURN(plan_, MakeKvPlan(report_.info, request));
  load_options_.dir = dir_;
  load_options_.max_batch_tokens = plan_.scheduler.max_prefill_tokens + plan_.scheduler.max_running;
  // No step is larger than all running windows together.
  load_options_.max_batch_tokens =
      std::min(load_options_.max_batch_tokens, plan_.pool_tokens + plan_.scheduler.max_running);
  load_options_.max_logit_rows =
      std::min<int64_t>(plan_.scheduler.max_running, load_options_.max_batch_tokens);
  load_options_.max_sequences = plan_.scheduler.max_running;
  load_options_.memory_limit_bytes = usable - std::min(usable, plan_.num_bytes);
  return Status();
}

Status ServeSession::Load(OutputSink* sink, std::function<void(const LoadProgress&)> progress) {
  load_options_.progress = std::move(progress);
  FT_ASSIGN_OR_RETURN(loaded_, LoadModel(load_options_));
  const ModelInfo& info = loaded_.model()->info();
  FT_ASSIGN_OR_RETURN(kv_,
                      KvMemory::Create(info.cache_groups, info.recurrent_blocks, plan_.memory));
  FT_RETURN_IF_ERROR(WarmUp());
  ModelEngineOptions options;
  options.scheduler = plan_.scheduler;
  options.max_model_len = plan_.max_model_len;
  if (settings_.IsSet("max-output-tokens")) {
    options.max_output_tokens = settings_.Int("max-output-tokens");
  }
  options.compute_mode =
      settings_.String("compute") == "exact" ? FT_COMPUTE_EXACT : FT_COMPUTE_SERVED;
  options.is_deterministic = settings_.Switch("deterministic");
  options.seed = std::random_device()();
  for (const StopId& stop : CollectStopIds(loaded_.config, text_->EosIds())) {
    options.stop_token_ids.push_back(static_cast<int32_t>(stop.id));
  }
  options.moe_counters = [this] { return loaded_.MoeCounters(); };
  engine_ =
      std::make_unique<ModelEngine>(options, loaded_.model(), kv_.get(), &text_->tokenizer(), sink);
  engine_->Start();
  PublishConfig();
  return Status();
}

// One step before anybody asks: a kernel that fails shows now, and buffers have their size.
Status ServeSession::WarmUp() {
  const ModelInfo& info = loaded_.model()->info();
  const std::vector<int32_t> tokens = {0};
  const std::vector<int32_t> rows = {0};
  const std::vector<int32_t> page = {0};
  SequenceInput sequence;
  sequence.num_tokens = 1;
  sequence.state_slot = info.recurrent_blocks.empty() ? -1 : 0;
  sequence.page_tables.assign(info.cache_groups.size(), page);
  const std::vector<SequenceInput> sequences = {sequence};
  std::vector<float> logits(static_cast<size_t>(info.vocab_size));
  ForwardInput input;
  input.tokens = tokens;
  input.sequences = sequences;
  input.logit_rows = rows;
  input.compute_mode =
      settings_.String("compute") == "exact" ? FT_COMPUTE_EXACT : FT_COMPUTE_SERVED;
  const Status status = loaded_.model()->Forward(input, kv_.get(), logits.data());
  if (sequence.state_slot >= 0) {
    kv_->ClearState(sequence.state_slot);
  }
  return status.ok() ? status : status.WithContext("the first step failed");
}

SamplingParams ServeSession::DefaultSampling() const {
  SamplingParams params;
  if (settings_.String("sampling-defaults") == "none") {
    return params;
  }
  const GenerationConfig& generation = loaded_.config.generation;
  params.temperature = generation.temperature.value_or(params.temperature);
  params.top_p = generation.top_p.value_or(params.top_p);
  params.top_k = generation.top_k.value_or(params.top_k);
  params.min_p = generation.min_p.value_or(params.min_p);
  params.repetition_penalty = generation.repetition_penalty.value_or(params.repetition_penalty);
  params.presence_penalty = generation.presence_penalty.value_or(params.presence_penalty);
  params.frequency_penalty = generation.frequency_penalty.value_or(params.frequency_penalty);
  if (generation.do_sample.has_value() && !*generation.do_sample) {
    params.temperature = 0;  // the model asks for greedy decoding
  }
  return params;
}

void ServeSession::PublishConfig() {
  json::Value document = json::Value::MakeObject();
  json::Value model = json::Value::MakeObject();
  model.Set("dir", json::Value(dir_));
  model.Set("id", json::Value(served_name()));
  model.Set("family", json::Value(report_.info.family));
  model.Set("trained_positions", json::Value(report_.info.max_positions));
  model.Set("formats", FormatsDocument(engine_ == nullptr ? report_.formats : loaded_.formats));
  document.Set("model", std::move(model));
  document.Set("kv", KvDocument(plan_));
  json::Value choices = json::Value::MakeObject();
  for (const Choice& choice : loaded_.choices) {
    choices.Set(choice.what, ChoiceDocument(choice.value, choice.reason));
  }
  choices.Set("reasoning_parser", ParserDocument(text_->reasoning()));
  choices.Set("tool_call_parser", ParserDocument(text_->tool_calls()));
  document.Set("choices", std::move(choices));
  json::Value moe = json::Value::MakeObject();
  for (const Choice& choice : loaded_.choices) {
    if (choice.what == "moe_backend") {
      moe.Set("backend", json::Value(choice.value));
      moe.Set("reason", json::Value(choice.reason));
    }
  }
  moe.Set("expert_bytes", json::Value(loaded_.expert_bytes));
  document.Set("moe", std::move(moe));
  document.Set("sampling_defaults", SamplingDocument(DefaultSampling()));
  document.Set("settings", SettingsDocument(settings_));
  const std::lock_guard lock(mutex_);
  config_document_ = std::move(document);
}

json::Value ServeSession::ConfigDocument() const {
  const std::lock_guard lock(mutex_);
  return config_document_;
}

json::Value ServeSession::PluginsDocument() const {
  json::Value list = json::Value::MakeArray();
  for (const PluginRecord& record : registries_->host->records()) {
    list.Append(PluginToJson(record));
  }
  json::Value document = json::Value::MakeObject();
  document.Set("plugins", std::move(list));
  return document;
}

}  // namespace ft::app
