// ServeSession: everything that answers requests, built in order from the settings: plugins, plan,
// model, text, engine. Refuses before a weight is read. The HTTP server is handed in.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/app/model_options.h"
#include "core/app/model_text.h"
#include "core/base/status.h"
#include "core/config/settings.h"
#include "core/engine/inspect.h"
#include "core/engine/kv_plan.h"
#include "core/engine/model_engine.h"
#include "core/json/value.h"
#include "core/kv_memory/kv_memory.h"

namespace ft::app {

/// Check (cheap, everything that can be refused) on the main thread, then Load on any one thread.
class ServeSession {
 public:
  explicit ServeSession(const Settings& settings);
  ~ServeSession();
  ServeSession(const ServeSession&) = delete;
  ServeSession& operator=(const ServeSession&) = delete;

  /// Finds the model, loads plugins, and checks that the model can be served as asked.
  /// `model`: a folder or hub id. Errors: those of each part; nothing was allocated for weights.
  Status Check(const std::string& model);

  /// Reads the weights and starts the engine. `sink` must outlive this.
  Status Load(OutputSink* sink, std::function<void(const LoadProgress&)> progress);

  /// Ends the engine's thread; running requests end. May be called at any time, also twice.
  void StopEngine();

  // After Check.
  const std::string& model_dir() const { return dir_; }

  std::string served_name() const;

  // After Load.
  Engine* engine() const { return engine_.get(); }

  const ModelText& text() const { return *text_; }

  const KvPlan& kv_plan() const { return plan_; }

  const LoadedModel& loaded() const { return loaded_; }

  /// What a request gets that says nothing about sampling.
  SamplingParams DefaultSampling() const;

  /// --default-chat-template-kwargs as an object.
  const json::Value& template_kwargs() const { return template_kwargs_; }

  /// The documents of /v1/config and /v1/plugins. Any thread, at any time after Check.
  json::Value ConfigDocument() const;
  json::Value PluginsDocument() const;

 private:
  Status PlanMemory();
  Status WarmUp();
  void PublishConfig();

  const Settings& settings_;
  std::string model_;  // as it was asked for: a folder or a hub id
  std::string dir_;
  json::Value template_kwargs_ = json::Value::MakeObject();
  std::unique_ptr<Registries> registries_;
  ModelReport report_;
  KvPlan plan_;
  LoadOptions load_options_;
  LoadedModel loaded_;
  std::unique_ptr<ModelText> text_;
  std::unique_ptr<KvMemory> kv_;
  std::unique_ptr<ModelEngine> engine_;

  mutable std::mutex mutex_;
  json::Value config_document_;  // guarded by mutex_
};

/// Every setting with its value and origin; secrets are shown as "(set)".
json::Value SettingsDocument(const Settings& settings);

}  // namespace ft::app
