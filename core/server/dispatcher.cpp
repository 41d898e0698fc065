#include "core/server/dispatcher.h"

#include <utility>

namespace ft::server {

using Clock = std::chrono::steady_clock;

namespace {

double Seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::optional<ApiError> Dispatcher::Enter(LiveGeneration* live) {
  std::vector<Request> requests = std::move(live->generation->requests);
  live->generation->requests.clear();
  live->num_open = requests.size();
  live->is_counted = true;
  ++num_live_;
  for (size_t choice = 0; choice < requests.size(); ++choice) {
    Result<RequestId> id = engine_->Submit(std::move(requests[choice]));
    if (!id.ok()) {
      Leave(live);
      return FromStatus(id.status());
    }
    live->ids.push_back(id.value());
    targets_[id.value()] = {live, choice};
  }
  return std::nullopt;
}

void Dispatcher::OnOutputs(const std::vector<RequestOutput>& outputs) {
  for (const RequestOutput& output : outputs) {
    const auto found = targets_.find(output.request);
    if (found == targets_.end()) {
      continue;  // its client has left
    }
    const Target target = found->second;
    if (output.finish.has_value()) {
      targets_.erase(found);
    }
    OnOutput(target, output);
  }
}

void Dispatcher::OnOutput(const Target& target, const RequestOutput& output) {
  LiveGeneration* live = target.live;
  const Clock::time_point now = Clock::now();
  if (!output.tokens.empty()) {
    if (live->first_output.has_value()) {
      metrics_->OnOutputGap(Seconds(now - live->last_output));
    } else {
      live->first_output = now;
    }
    live->last_output = now;
  }
  if (auto error = live->generation->OnOutput(target.choice, output, &live->sse)) {
    End(live, std::move(error));
    return;
  }
  if (output.finish.has_value() && --live->num_open == 0) {
    if (live->generation->stream) {
      live->sse += live->generation->End();
    }
    GenerationTimes times;
    times.total = Seconds(now - live->arrival);
    times.first_output =
        live->first_output.has_value() ? Seconds(*live->first_output - live->arrival) : -1;
    metrics_->OnGeneration(times);
    End(live, std::nullopt);
    return;
  }
  if (live->on_news && !live->sse.empty()) {
    live->on_news();
  }
}

void Dispatcher::End(LiveGeneration* live, std::optional<ApiError> error) {
  if (error.has_value() && live->generation->stream) {
    live->sse += ErrorEvent(*error);
  }
  live->error = std::move(error);
  live->ended = true;
  CancelOpen(live);
  if (live->on_news) {
    live->on_news();
  }
}

void Dispatcher::CancelOpen(LiveGeneration* live) {
  for (const RequestId id : std::exchange(live->ids, {})) {
    if (targets_.erase(id) > 0 && engine_ != nullptr) {
      engine_->Cancel(id);
    }
  }
  if (std::exchange(live->is_counted, false)) {
    --num_live_;
  }
}

void Dispatcher::Leave(LiveGeneration* live) {
  live->on_news = nullptr;
  CancelOpen(live);
}

void Dispatcher::EndAll(const ApiError& error) {
  while (!targets_.empty()) {
    End(targets_.begin()->second.live, error);
  }
}

}  // namespace ft::server
