#include "tests/server/scripted_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/errors.h"
#include "tests/server/scripted_text.h"

namespace ft::server {
namespace {

constexpr std::chrono::seconds kWaitLimit{20};

constexpr const char* kToolCall =
    "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\",\"n\":2}}</tool_call>";

void AddLogprobs(int num_logprobs, TokenOutput* token) {
  token->logprob = -0.5;
  for (int i = 0; i < num_logprobs; ++i) {
    token->top.push_back({(token->token_id + i) % kScriptedVocab, -0.5 - i});
  }
}

}  // namespace

Script ScriptFor(const std::vector<int32_t>& prompt_ids) {
  const std::string prompt = ScriptedText().Decode(prompt_ids, false);
  const std::string key = "script:";
  const size_t at = prompt.rfind(key);
  std::string name = "hello";
  if (at != std::string::npos) {
    const size_t begin = at + key.size();
    const size_t end = prompt.find_first_not_of("abcdefghijklmnopqrstuvwxyz", begin);
    name = prompt.substr(begin, end == std::string::npos ? end : end - begin);
  }
  const std::map<std::string, Script> scripts = {
      {"hello", {.text = "Hello, world!", .error = {}}},
      {"think", {.text = "<think>two and two</think>Four.", .error = {}}},
      {"tool", {.text = kToolCall, .error = {}}},
      {"tools",
       {.text =
            std::string("Let me look. ") + kToolCall + "<tool_call>{\"name\":\"now\"}</tool_call>",
        .error = {}}},
      {"cut",
       {.text = "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Pa",
        .error = {},
        .forever = true}},
      {"emoji",
       {.text = "a\xF0\x9F\x98\x80 \xF0\x9F\x87\xA9\xF0\x9F\x87\xAA e\xCC\x81 "
                "\xE4\xBD\xA0\xE5\xA5\xBD \xFF!\xF0\x9F",
        .error = {}}},
      {"hold", {.text = "Wait", .hold = true, .error = {}}},
      {"silent", {.text = "", .hold = true, .error = {}}},
      {"error", {.text = "Some", .error = Internal("the step failed: device lost")}},
      {"long", {.text = "word ", .error = {}, .forever = true}},
      {"slow", {.text = "one two three four five", .error = {}, .pace_ms = 40}},
      {"echo", {.text = prompt, .error = {}}},
  };
  const auto found = scripts.find(name);
  return found == scripts.end() ? scripts.at("hello") : found->second;
}

ScriptedEngine::ScriptedEngine(OutputSink* sink, EngineInfo info) : sink_(sink), info_(info) {}

ScriptedEngine::~ScriptedEngine() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

EngineStats ScriptedEngine::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.num_running = static_cast<int>(held_.size());
  stats.moe = {{"expert_hits", 7}, {"expert_misses", 3}};
  return stats;
}

Result<RequestId> ScriptedEngine::Submit(Request request) {
  RequestId id = 0;
  const Script script = ScriptFor(request.prompt_ids);
  {
    const std::lock_guard lock(mutex_);
    const auto num_prompt = static_cast<int64_t>(request.prompt_ids.size());
    if (num_prompt + request.max_tokens > info_.max_model_len) {
      return ResourceExhausted("context_length_exceeded: {} and {} are more than {}", num_prompt,
                               request.max_tokens, info_.max_model_len);
    }
    if (is_draining_) {
      return Unavailable("the engine drains");
    }
    if (static_cast<int>(held_.size()) >= info_.max_running_requests + info_.max_queued_requests) {
      return Unavailable("the queue is full: {} requests are running or waiting", held_.size());
    }
    id = next_id_++;
    last_request_ = request;
    stats_.num_prompt_tokens += static_cast<uint64_t>(num_prompt);
    if (script.hold) {
      held_[id] = {num_prompt, 0};
    }
  }
  if (script.pace_ms > 0) {
    threads_.emplace_back([this, id, request, script] { Play(id, request, script); });
  } else {
    Play(id, request, script);
  }
  return id;
}

void ScriptedEngine::Play(RequestId id, const Request& request, const Script& script) {
  const std::vector<TokenOutput> tokens = ScriptedTokens(script.text);
  const auto num_prompt = static_cast<int64_t>(request.prompt_ids.size());
  int64_t count = 0;
  for (size_t i = 0; count < request.max_tokens && !tokens.empty(); ++i) {
    if (i == tokens.size()) {
      if (!script.forever) {
        break;
      }
      i = 0;
    }
    if (script.pace_ms > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(script.pace_ms));
    }
    RequestOutput output;
    output.request = id;
    output.tokens.push_back(tokens[i]);
    AddLogprobs(request.sampling.num_logprobs, &output.tokens.back());
    count += tokens[i].token_id >= 0 ? 1 : 0;
    output.num_prompt_tokens = num_prompt;
    output.num_output_tokens = count;
    sink_->OnOutputs({output});
  }
  if (script.hold) {
    const std::lock_guard lock(mutex_);
    if (held_.count(id) != 0) {
      held_[id].num_output_tokens = count;
    }
    changed_.notify_all();
    return;
  }
  RequestOutput last;
  last.request = id;
  last.num_prompt_tokens = num_prompt;
  last.num_output_tokens = count;
  last.error = script.error;
  last.finish = !script.error.ok()            ? FinishReason::kError
                : count >= request.max_tokens ? FinishReason::kLength
                                              : FinishReason::kStop;
  if (last.finish == FinishReason::kStop) {
    last.stop_token_id = kEndOfTurn;
    ++last.num_output_tokens;
  }
  Finish(std::move(last));
}

void ScriptedEngine::Finish(RequestOutput output) {
  {
    const std::lock_guard lock(mutex_);
    stats_.num_output_tokens += static_cast<uint64_t>(output.num_output_tokens);
    switch (*output.finish) {
      case FinishReason::kStop:
        ++stats_.num_finished_stop;
        break;
      case FinishReason::kLength:
        ++stats_.num_finished_length;
        break;
      case FinishReason::kCancelled:
        ++stats_.num_cancelled;
        break;
      case FinishReason::kError:
        ++stats_.num_failed;
        break;
    }
  }
  sink_->OnOutputs({std::move(output)});
  changed_.notify_all();
}

void ScriptedEngine::Cancel(RequestId request) {
  RequestOutput last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(request);
    if (found == held_.end()) {
      return;
    }
    last.request = request;
    last.num_prompt_tokens = found->second.num_prompt_tokens;
    last.num_output_tokens = found->second.num_output_tokens;
    last.finish = FinishReason::kCancelled;
    held_.erase(found);
  }
  Finish(std::move(last));
}

void ScriptedEngine::Drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
}

void ScriptedEngine::Release() {
  std::map<RequestId, Held> held;
  {
    const std::lock_guard lock(mutex_);
    held.swap(held_);
  }
  for (const auto& [id, counts] : held) {
    RequestOutput last;
    last.request = id;
    last.num_prompt_tokens = counts.num_prompt_tokens;
    last.num_output_tokens = counts.num_output_tokens + 1;
    last.finish = FinishReason::kStop;
    Finish(std::move(last));
  }
}

bool ScriptedEngine::WaitForCancelled(uint64_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kWaitLimit, [&] { return stats_.num_cancelled >= count; });
}

bool ScriptedEngine::WaitForHeld(size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kWaitLimit, [&] { return held_.size() >= count; });
}

Request ScriptedEngine::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_request_;
}

bool ScriptedEngine::is_draining() const {
  const std::lock_guard lock(mutex_);
  return is_draining_;
}

}  // namespace ft::server
