// A ModelReport as JSON and as text.
#include <fmt/format.h>

#include "core/base/file.h"
#include "core/engine/inspect.h"

namespace ft {
namespace {

json::Value SetsToJson(const std::vector<TensorSet>& sets) {
  json::Value array = json::Value::MakeArray();
  for (const TensorSet& set : sets) {
    json::Value entry = json::Value::MakeObject();
    entry.Set("name", set.name);
    entry.Set("num_tensors", set.num_tensors);
    entry.Set("num_bytes", set.num_bytes);
    entry.Set("example", set.example);
    array.Append(std::move(entry));
  }
  return array;
}

json::Value FormatsToJson(const std::vector<FormatUse>& formats) {
  json::Value array = json::Value::MakeArray();
  for (const FormatUse& use : formats) {
    json::Value entry = json::Value::MakeObject();
    entry.Set("format", use.format);
    entry.Set("origin", use.origin);
    entry.Set("num_matrices", use.num_matrices);
    entry.Set("num_bytes", use.stored_bytes);
    array.Append(std::move(entry));
  }
  return array;
}

json::Value StringsToJson(const std::vector<std::string>& strings) {
  json::Value array = json::Value::MakeArray();
  for (const std::string& text : strings) {
    array.Append(text);
  }
  return array;
}

json::Value StopIdsToJson(const std::vector<StopId>& stop_ids) {
  json::Value array = json::Value::MakeArray();
  for (const StopId& stop : stop_ids) {
    json::Value entry = json::Value::MakeObject();
    entry.Set("id", stop.id);
    entry.Set("sources", StringsToJson(stop.sources));
    array.Append(std::move(entry));
  }
  return array;
}

json::Value InfoToJson(const ModelInfo& info) {
  json::Value object = json::Value::MakeObject();
  object.Set("family", info.family);
  object.Set("num_layers", info.num_layers);
  object.Set("num_moe_layers", info.num_moe_layers);
  object.Set("num_experts", info.num_experts);
  object.Set("top_k", info.top_k);
  object.Set("hidden_dim", info.hidden_dim);
  object.Set("vocab_size", info.vocab_size);
  object.Set("max_positions", info.max_positions);
  json::Value groups = json::Value::MakeArray();
  for (const CacheGroup& group : info.cache_groups) {
    json::Value entry = json::Value::MakeObject();
    entry.Set("name", group.name);
    entry.Set("num_layers", static_cast<int64_t>(group.layer_ids.size()));
    entry.Set("window_tokens", group.window_tokens);
    entry.Set("bytes_per_token", PageBytes(group, 1, DType::kF32));
    groups.Append(std::move(entry));
  }
  object.Set("cache_groups", std::move(groups));
  return object;
}

void AppendSets(const char* title, const std::vector<TensorSet>& sets, std::string* text) {
  for (const TensorSet& set : sets) {
    *text += fmt::format("{:<14}{}: {} tensors, {} ({})\n", title, set.name, set.num_tensors,
                         HumanBytes(set.num_bytes), set.example);
    title = "";
  }
}

void AppendLines(const char* title, const std::vector<std::string>& lines, std::string* text) {
  for (const std::string& line : lines) {
    *text += fmt::format("{:<14}{}\n", title, line);
    title = "";
  }
}

std::string InfoLines(const ModelInfo& info) {
  std::string text = fmt::format("{:<14}{}\n", "family", info.family);
  text += fmt::format("{:<14}{} ({} with experts), hidden {}, vocabulary {}, {} positions\n",
                      "layers", info.num_layers, info.num_moe_layers, info.hidden_dim,
                      info.vocab_size, info.max_positions);
  if (info.num_moe_layers > 0) {
    text +=
        fmt::format("{:<14}{} per layer, {} per token\n", "experts", info.num_experts, info.top_k);
  }
  for (const CacheGroup& group : info.cache_groups) {
    text += fmt::format(
        "{:<14}{}: {} layers, {} per token{}\n", "cache", group.name, group.layer_ids.size(),
        HumanBytes(PageBytes(group, 1, DType::kF32)),
        group.window_tokens == 0 ? "" : fmt::format(", window of {} tokens", group.window_tokens));
  }
  return text;
}

}  // namespace

json::Value ReportToJson(const ModelReport& report) {
  json::Value object = json::Value::MakeObject();
  object.Set("dir", report.dir);
  object.Set("servable", report.servable.ok());
  object.Set("reason",
             report.servable.ok() ? json::Value() : json::Value(report.servable.message()));
  object.Set("architecture", report.architecture);
  object.Set("model_type", report.model_type);
  object.Set("model", report.has_info ? InfoToJson(report.info) : json::Value());
  object.Set("formats", FormatsToJson(report.formats));
  object.Set("other_tensors", SetsToJson(report.other_used));
  object.Set("unused_tensors", SetsToJson(report.unused));
  object.Set("dtypes", SetsToJson(report.dtypes));
  object.Set("num_files", report.num_files);
  object.Set("num_tensors", report.num_tensors);
  object.Set("file_bytes", report.file_bytes);
  object.Set("dense_bytes", report.dense_bytes);
  object.Set("expert_bytes", report.expert_bytes);
  object.Set("stop_ids", StopIdsToJson(report.stop_ids));
  object.Set("chat_template", report.template_kind);
  object.Set("has_tokenizer", report.has_tokenizer);
  object.Set("ignored_config_keys", StringsToJson(report.ignored_keys));
  object.Set("can", StringsToJson(report.can));
  object.Set("cannot", StringsToJson(report.cannot));
  return object;
}

std::string ReportToText(const ModelReport& report) {
  std::string text = fmt::format("{:<14}{}\n{:<14}{} ({})\n", "model", report.dir, "architecture",
                                 report.architecture, report.model_type);
  if (report.has_info) {
    text += InfoLines(report.info);
  }
  text += fmt::format("{:<14}{} in {} tensors, {} files\n", "size", HumanBytes(report.file_bytes),
                      report.num_tensors, report.num_files);
  if (!report.formats.empty()) {
    text += fmt::format("{:<14}{} of experts, {} of other weights\n", "",
                        HumanBytes(report.expert_bytes), HumanBytes(report.dense_bytes));
  }
  const char* title = "formats";
  for (const FormatUse& use : report.formats) {
    text += fmt::format("{:<14}{}: {} matrices, {} ({})\n", title, use.format, use.num_matrices,
                        HumanBytes(use.stored_bytes), use.origin);
    title = "";
  }
  AppendSets("other", report.other_used, &text);
  AppendSets("unused", report.unused, &text);
  std::vector<std::string> stops;
  for (const StopId& stop : report.stop_ids) {
    stops.push_back(fmt::format("{} ({})", stop.id, fmt::join(stop.sources, ", ")));
  }
  text += fmt::format("{:<14}{}\n", "stop ids", fmt::join(stops, ", "));
  text += fmt::format("{:<14}{}\n", "template", report.template_kind);
  AppendLines("ft can", report.can, &text);
  AppendLines("ft cannot", report.cannot, &text);
  if (!report.servable.ok()) {
    text += fmt::format("{:<14}{}\n", "not servable", report.servable.message());
  }
  return text;
}

}  // namespace ft
