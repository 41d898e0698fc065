// ModelEngine: the step loop. It admits requests, asks the scheduler for a step, runs the model,
// samples, and hands out what came of it. One thread does all of it; the other calls only leave
// notes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/output_stage.h"
#include "core/engine/sampler.h"
#include "core/models/model.h"
#include "core/scheduler/scheduler.h"

namespace ft {

struct ModelEngineOptions {
  SchedulerOptions scheduler;
  int64_t max_model_len = 0;      ///< the served window; > 0, at most what the scheduler can hold
  int64_t max_output_tokens = 0;  ///< per request; 0 = the window
  uint32_t compute_mode = 1;      ///< FT_COMPUTE_SERVED
  bool is_deterministic = false;
  uint64_t seed = 0;                    ///< requests without a seed draw theirs from here
  std::vector<int32_t> stop_token_ids;  ///< the model's own: config, generation config, tokenizer
  /// Counters of the MoE backend for stats(); any thread. May be empty.
  std::function<std::vector<std::pair<std::string, double>>()> moe_counters;
};

class ModelEngine : public Engine {
 public:
  /// `model`, `kv`, `tokenizer` and `sink` must outlive this.
  ModelEngine(ModelEngineOptions options,
              Model* model,
              KvMemory* kv,
              const text::Tokenizer* tokenizer,
              OutputSink* sink);
  ~ModelEngine() override;
  ModelEngine(const ModelEngine&) = delete;
  ModelEngine& operator=(const ModelEngine&) = delete;

  /// Starts the engine's thread. Without it, call RunStep.
  void Start();

  /// Ends the thread after the step it is in; requests that still run end with kCancelled.
  void Stop();

  /// Takes notes, runs one step and hands out its outputs. False: there was nothing to do.
  /// Requires: Start was not called.
  bool RunStep();

  EngineInfo info() const override;
  EngineStats stats() const override;
  Result<RequestId> Submit(Request request) override;
  void Cancel(RequestId request) override;
  void Drain() override;

 private:
  struct Live;  // one request from submission to its last output

  void Loop();
  void TakeNotes();
  void Admit(std::unique_ptr<Live> live);
  void FillInput(std::span<const ScheduledSequence> batch);
  void SampleAll(std::span<const ScheduledSequence> batch);
  void TakeToken(Live* live, SampledToken sampled);
  void Finish(Live* live, FinishReason reason, Status error);
  void FailBatch(std::span<const ScheduledSequence> batch, const Status& error);
  void SendOutputs();
  void UpdateStats();
  RequestOutput& OutputOf(Live* live);
  bool IsStopToken(const Live& live, int32_t token_id) const;

  const ModelEngineOptions options_;
  Model* model_;
  KvMemory* kv_;
  const text::Tokenizer* tokenizer_;
  OutputSink* sink_;

  // The engine's thread only.
  Scheduler scheduler_;
  Sampler sampler_;
  std::unordered_map<RequestId, std::unique_ptr<Live>> live_;
  std::vector<RequestId> finished_;       // this step; forgotten after it
  std::vector<RequestOutput> outputs_;    // this step
  std::vector<int32_t> tokens_;           // [max step tokens]
  std::vector<SequenceInput> sequences_;  // [max_running]
  size_t num_sequences_ = 0;
  uint64_t num_prompt_tokens_ = 0;  // of this step
  std::vector<int32_t> logit_rows_;
  std::vector<float> logits_;  // [max_running, vocab]

  // Notes from other threads.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Live>> submitted_;
  std::vector<RequestId> cancelled_;
  RequestId next_id_ = 1;
  int num_unfinished_ = 0;
  bool is_draining_ = false;
  bool stop_ = false;
  EngineStats stats_;
  std::thread thread_;
};

}  // namespace ft
