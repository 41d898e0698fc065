// An Engine that plays scripts instead of running a model. Everything happens inside Submit, except
// what a script holds back for the test to release, or for the clock of the stand-alone program.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/engine.h"

namespace ft::server {

struct Script {
  std::string text;      ///< with markers; see scripted_text.h
  bool hold = false;     ///< after the text: wait for Release or Cancel
  Status error;          ///< after the text: fail with it
  bool forever = false;  ///< repeat the text until max_tokens
  int pace_ms = 0;       ///< > 0: one token each so often, on a thread of its own
};

/// The script that the last "script:NAME" in the prompt names. Names: hello think tool tools cut
/// emoji hold error long echo slow.
Script ScriptFor(const std::vector<int32_t>& prompt_ids);

class ScriptedEngine : public Engine {
 public:
  /// `sink` must outlive this.
  ScriptedEngine(OutputSink* sink, EngineInfo info);
  ~ScriptedEngine() override;

  EngineInfo info() const override { return info_; }

  EngineStats stats() const override;
  Result<RequestId> Submit(Request request) override;
  void Cancel(RequestId request) override;
  void Drain() override;

  /// Finishes all that is held.
  void Release();

  /// Waits (at most 20 s) until so many were cancelled, or are held. False: it did not happen.
  bool WaitForCancelled(uint64_t count);
  bool WaitForHeld(size_t count);

  /// What was submitted last.
  Request last_request() const;
  bool is_draining() const;

 private:
  struct Held {
    int64_t num_prompt_tokens = 0;
    int64_t num_output_tokens = 0;
  };

  void Play(RequestId id, const Request& request, const Script& script);
  void Finish(RequestOutput output);

  OutputSink* sink_;
  EngineInfo info_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestId, Held> held_;
  std::vector<std::thread> threads_;
  Request last_request_;
  EngineStats stats_;
  RequestId next_id_ = 1;
  bool is_draining_ = false;
};

}  // namespace ft::server
