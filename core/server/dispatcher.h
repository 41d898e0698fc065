// Dispatcher: the way between HTTP requests that generate and the engine. I/O thread only:
// the engine's outputs are posted to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/engine/engine.h"
#include "core/server/api/generation.h"
#include "core/server/metrics.h"

namespace ft::server {

/// One HTTP request's generation and what it has for its client. Owned by the request's handler,
/// which hands it back with Dispatcher::Leave.
struct LiveGeneration {
  std::unique_ptr<Generation> generation;
  std::string sse;                ///< events to send; the handler takes them
  std::optional<ApiError> error;  ///< why it ended early
  bool ended = false;             ///< nothing more will come
  std::function<void()> on_news;  ///< called after `sse` or `ended` changed

  // The rest is the dispatcher's.
  std::vector<RequestId> ids;
  size_t num_open = 0;
  bool is_counted = false;
  std::chrono::steady_clock::time_point arrival;
  std::optional<std::chrono::steady_clock::time_point> first_output;
  std::chrono::steady_clock::time_point last_output;
};

class Dispatcher {
 public:
  /// `metrics` must outlive this.
  explicit Dispatcher(Metrics* metrics) : metrics_(metrics) {}

  void set_engine(Engine* engine) { engine_ = engine; }

  /// Submits all choices. Errors: the engine's refusal; then nothing of it runs.
  std::optional<ApiError> Enter(LiveGeneration* live);

  void OnOutputs(const std::vector<RequestOutput>& outputs);

  /// Forgets `live` and cancels what of it still runs. Idempotent.
  void Leave(LiveGeneration* live);

  /// Ends everything that runs with `error`: the handlers then see `ended`.
  void EndAll(const ApiError& error);

  size_t num_live() const { return num_live_; }

 private:
  struct Target {
    LiveGeneration* live = nullptr;
    size_t choice = 0;
  };

  void OnOutput(const Target& target, const RequestOutput& output);
  void CancelOpen(LiveGeneration* live);
  void End(LiveGeneration* live, std::optional<ApiError> error);

  Metrics* metrics_;
  Engine* engine_ = nullptr;
  std::unordered_map<RequestId, Target> targets_;
  size_t num_live_ = 0;
};

}  // namespace ft::server
