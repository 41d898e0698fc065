// ServerState: loading, serving, failed or draining, and what was loaded. Any thread.
#pragma once

#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#include "core/server/api/error.h"
#include "core/server/server.h"

namespace ft::server {

class ServerState {
 public:
  enum class Phase {
    kLoading,
    kServing,
    kFailed
  };

  struct Snapshot {
    Phase phase = Phase::kLoading;
    bool is_draining = false;
    LoadProgress progress;
    std::string failure;
  };

  Snapshot Get() const {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }

  void SetProgress(LoadProgress progress) {
    const std::lock_guard lock(mutex_);
    snapshot_.progress = std::move(progress);
  }

  void SetModel(ServedModel model) {
    const std::lock_guard lock(mutex_);
    model_ = std::move(model);
    snapshot_.phase = Phase::kServing;
  }

  void SetFailed(const Status& status) {
    const std::lock_guard lock(mutex_);
    snapshot_.phase = Phase::kFailed;
    snapshot_.failure = status.message();
  }

  void SetDraining() {
    const std::lock_guard lock(mutex_);
    snapshot_.is_draining = true;
  }

  /// Null while loading. Valid as long as this: the model never changes once it is there.
  const ServedModel* model() const {
    const std::lock_guard lock(mutex_);
    return model_.has_value() ? &*model_ : nullptr;
  }

  /// Why no new work is taken now.
  std::optional<ApiError> Refusal() const;

  const std::time_t start_time = std::time(nullptr);

 private:
  mutable std::mutex mutex_;
  Snapshot snapshot_;
  std::optional<ServedModel> model_;
};

}  // namespace ft::server
