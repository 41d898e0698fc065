#include "core/server/api/documents.h"

#include <ctime>
#include <string>
#include <utility>

#include "core/json/write.h"

namespace ft::server {
namespace {

json::Value ProgressJson(const LoadProgress& progress) {
  json::Value out = json::Value::MakeObject();
  out.Set("done_bytes", progress.done_bytes);
  out.Set("total_bytes", progress.total_bytes);
  out.Set("bytes_per_second", progress.bytes_per_second);
  if (!progress.detail.empty()) {
    out.Set("detail", progress.detail);
  }
  return out;
}

const char* StatusWord(const ServerState::Snapshot& snapshot) {
  switch (snapshot.phase) {
    case ServerState::Phase::kLoading:
      return "loading";
    case ServerState::Phase::kFailed:
      return "error";
    case ServerState::Phase::kServing:
      break;
  }
  return snapshot.is_draining ? "draining" : "ok";
}

json::Value ModelJson(const ServerOptions& options,
                      const ServerState& state,
                      const ServedModel& model) {
  json::Value out = json::Value::MakeObject();
  out.Set("id", options.served_model_name);
  out.Set("object", "model");
  out.Set("created", static_cast<int64_t>(state.start_time));
  out.Set("owned_by", "ft");
  out.Set("root", model.root);
  out.Set("parent", json::Value());
  out.Set("max_model_len", model.engine->info().max_model_len);
  return out;
}

json::Value HistogramJson(const Histogram& histogram) {
  json::Value out = json::Value::MakeObject();
  out.Set("count", histogram.count());
  out.Set("mean_ms", histogram.count() == 0 ? json::Value()
                                            : json::Value(histogram.sum() * 1000.0 /
                                                          static_cast<double>(histogram.count())));
  return out;
}

json::Value RequestsJson(const EngineStats& stats, const Metrics& metrics) {
  json::Value out = json::Value::MakeObject();
  out.Set("running", stats.num_running);
  out.Set("waiting", stats.num_waiting);
  out.Set("finished_stop", stats.num_finished_stop);
  out.Set("finished_length", stats.num_finished_length);
  out.Set("cancelled", stats.num_cancelled);
  out.Set("failed", stats.num_failed);
  out.Set("preempted", stats.num_preemptions);
  out.Set("clients_gone", metrics.num_clients_gone());
  out.Set("time_to_first_token", HistogramJson(metrics.first_output()));
  out.Set("duration", HistogramJson(metrics.total()));
  return out;
}

void AddEngine(const EngineStats& stats, const Metrics& metrics, json::Value* out) {
  json::Value kv = json::Value::MakeObject();
  kv.Set("used_pages", stats.num_pages_used);
  kv.Set("total_pages", stats.num_pages);
  kv.Set("page_size", stats.page_size_tokens);
  json::Value tokens = json::Value::MakeObject();
  tokens.Set("prompt_total", stats.num_prompt_tokens);
  tokens.Set("completion_total", stats.num_output_tokens);
  json::Value moe = json::Value::MakeObject();
  for (const auto& [name, value] : stats.moe) {
    moe.Set(name, value);
  }
  out->Set("requests", RequestsJson(stats, metrics));
  out->Set("kv", std::move(kv));
  out->Set("tokens", std::move(tokens));
  out->Set("steps", stats.num_steps);
  out->Set("last_step_ms", stats.last_step_ms);
  out->Set("moe", std::move(moe));
}

HttpResponse MetricsDocument(const ServerOptions& options,
                             const ServerState& state,
                             const Metrics& metrics) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  std::optional<EngineStats> stats;
  std::optional<EngineInfo> info;
  if (const ServedModel* model = state.model()) {
    stats = model->engine->stats();
    info = model->engine->info();
  }
  response.body =
      metrics.Write(options.served_model_name, stats ? &*stats : nullptr, info ? &*info : nullptr);
  return response;
}

HttpResponse FromCallback(const std::function<json::Value()>& document) {
  if (document) {
    return JsonResponse(document());
  }
  ApiError error = BadRequest("not_found", "", "this server has no such document");
  error.http_status = 404;
  return ErrorResponse(error);
}

}  // namespace

std::optional<ApiError> ServerState::Refusal() const {
  const Snapshot now = Get();
  switch (now.phase) {
    case Phase::kLoading:
      return NotServing("the model is still loading; /health shows how far it is");
    case Phase::kFailed:
      return NotServing("the model cannot be served: " + now.failure);
    case Phase::kServing:
      break;
  }
  if (now.is_draining) {
    return NotServing("the server is shutting down");
  }
  return std::nullopt;
}

HttpResponse JsonResponse(const json::Value& value, int status) {
  HttpResponse response;
  response.status = status;
  response.body = json::Write(value);
  return response;
}

HttpResponse HealthDocument(const ServerOptions& options, const ServerState& state) {
  const ServerState::Snapshot now = state.Get();
  json::Value out = json::Value::MakeObject();
  out.Set("status", StatusWord(now));
  out.Set("model", options.served_model_name);
  out.Set("version", options.version);
  out.Set("uptime_s", static_cast<int64_t>(std::time(nullptr) - state.start_time));
  if (now.phase == ServerState::Phase::kLoading) {
    out.Set("phase", now.progress.phase.empty() ? "start" : now.progress.phase);
    out.Set("progress", ProgressJson(now.progress));
  }
  if (now.phase == ServerState::Phase::kFailed) {
    out.Set("message", now.failure);
    return JsonResponse(out, 503);
  }
  return JsonResponse(out);
}

HttpResponse ReadyDocument(const ServerState& state) {
  if (auto refusal = state.Refusal()) {
    HttpResponse response = ErrorResponse(*refusal);
    return response;
  }
  json::Value out = json::Value::MakeObject();
  out.Set("status", "ready");
  return JsonResponse(out);
}

HttpResponse ModelsDocument(const ServerOptions& options, const ServerState& state) {
  const ServedModel* model = state.model();
  if (model == nullptr) {
    return ErrorResponse(*state.Refusal());
  }
  json::Value list = json::Value::MakeArray();
  list.Append(ModelJson(options, state, *model));
  json::Value out = json::Value::MakeObject();
  out.Set("object", "list");
  out.Set("data", std::move(list));
  return JsonResponse(out);
}

HttpResponse ModelDocument(const ServerOptions& options,
                           const ServerState& state,
                           std::string_view id) {
  const ServedModel* model = state.model();
  if (model == nullptr) {
    return ErrorResponse(*state.Refusal());
  }
  if (id != options.served_model_name) {
    ApiError error =
        BadRequest("model_not_found", "model", "this server has no such model; it serves \"{}\"",
                   options.served_model_name);
    error.http_status = 404;
    return ErrorResponse(error);
  }
  return JsonResponse(ModelJson(options, state, *model));
}

HttpResponse StatsDocument(const ServerOptions& options,
                           const ServerState& state,
                           const Metrics& metrics) {
  json::Value out = json::Value::MakeObject();
  out.Set("status", StatusWord(state.Get()));
  out.Set("uptime_s", static_cast<int64_t>(std::time(nullptr) - state.start_time));
  json::Value model_json = json::Value::MakeObject();
  model_json.Set("id", options.served_model_name);
  if (const ServedModel* model = state.model()) {
    const EngineInfo info = model->engine->info();
    model_json.Set("ctx", info.max_model_len);
    model_json.Set("trained_positions", info.trained_positions);
    model_json.Set("max_running_requests", info.max_running_requests);
    model_json.Set("max_queued_requests", info.max_queued_requests);
    AddEngine(model->engine->stats(), metrics, &out);
  }
  out.Set("model", std::move(model_json));
  return JsonResponse(out);
}

HttpResponse GetDocument(const Route& route,
                         const ServerOptions& options,
                         const ServerState& state,
                         const Metrics& metrics) {
  switch (route.endpoint) {
    case Endpoint::kHealth:
      return HealthDocument(options, state);
    case Endpoint::kReady:
      return ReadyDocument(state);
    case Endpoint::kMetrics:
      return MetricsDocument(options, state, metrics);
    case Endpoint::kModels:
      return ModelsDocument(options, state);
    case Endpoint::kModel:
      return ModelDocument(options, state, route.argument);
    case Endpoint::kConfig:
      return FromCallback(options.config_document);
    case Endpoint::kPlugins:
      return FromCallback(options.plugins_document);
    case Endpoint::kStats:
      return StatsDocument(options, state, metrics);
    case Endpoint::kChatCompletions:
    case Endpoint::kCompletions:
    case Endpoint::kTokenize:
    case Endpoint::kDetokenize:
      break;
  }
  FT_CHECK(false);
  return {};
}

}  // namespace ft::server
