// Engine: what the server asks of whoever generates tokens. The real one runs a model step by step
// (model_engine.h); tests use a scripted one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace ft {

/// How tokens are chosen. The defaults are greedy-free neutral values: every field off.
struct SamplingParams {
  double temperature = 1.0;         ///< 0 = greedy
  double top_p = 1.0;               ///< (0, 1]
  int64_t top_k = 0;                ///< 0 = off
  double min_p = 0.0;               ///< [0, 1]
  double repetition_penalty = 1.0;  ///< > 0; over prompt and output, as transformers does
  double presence_penalty = 0.0;    ///< [-2, 2]; over the output
  double frequency_penalty = 0.0;   ///< [-2, 2]; over the output
  std::optional<uint64_t> seed;     ///< absent: drawn by the engine
  std::vector<std::pair<int32_t, double>> logit_bias;
  int num_logprobs = -1;  ///< -1 none; n >= 0: the chosen token's and the n best
};

/// One generation. Immutable once submitted. `n` > 1 is n requests.
struct Request {
  std::vector<int32_t> prompt_ids;  ///< not empty
  SamplingParams sampling;
  int64_t max_tokens = 0;                 ///< > 0; at most the rest of the window
  std::vector<std::string> stop_strings;  ///< the first that appears ends the text in front of it
  std::vector<int32_t> stop_token_ids;    ///< beside the model's own
  bool ignore_eos = false;  ///< all stop ids, the model's and the request's, are plain tokens
  bool skip_special_tokens = true;  ///< special tokens give no text
};

enum class FinishReason {
  kStop,
  kLength,
  kCancelled,
  kError
};

struct TokenLogprob {
  int32_t token_id = 0;
  double logprob = 0;
};

/// What one generated token added. `text` is whole characters and may be empty or held back from
/// earlier tokens (an open character, the start of a stop string).
struct TokenOutput {
  int32_t token_id = -1;  ///< -1: text that came loose at the end without a token
  std::string text;
  bool is_added_token = false;  ///< one of the tokenizer's added tokens; text is its content or ""
  double logprob = 0;           ///< of token_id, after temperature-free softmax of raw logits
  std::vector<TokenLogprob> top;  ///< the best num_logprobs, best first
};

using RequestId = uint64_t;

/// What one step did for one request. The last one has `finish`.
struct RequestOutput {
  RequestId request = 0;
  std::vector<TokenOutput> tokens;
  std::optional<FinishReason> finish;
  Status error;                          ///< with kError: what went wrong
  std::optional<int32_t> stop_token_id;  ///< with kStop by a token: which (its text is not sent)
  std::string stop_string;               ///< with kStop by a string: which
  int64_t num_prompt_tokens = 0;
  int64_t num_output_tokens = 0;  ///< all generated, the stop token included
  int64_t num_cached_tokens = 0;  ///< prompt tokens not computed (prefix cache); 0 for now
};

/// Receives outputs. One call per step with everything that step did; on the engine's thread: post
/// it elsewhere and return. Must outlive the engine.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void OnOutputs(std::vector<RequestOutput> outputs) = 0;
};

/// What clients may know before they ask.
struct EngineInfo {
  int64_t max_model_len = 0;      ///< the served window: prompt + output of one request, in tokens
  int64_t max_output_tokens = 0;  ///< per request; = max_model_len where not limited
  int64_t trained_positions = 0;  ///< what the model was trained for
  int max_running_requests = 0;
  int max_queued_requests = 0;
};

/// A snapshot of counters for /metrics, /v1/stats and `ft ctl`. Counters only grow.
struct EngineStats {
  int num_running = 0;
  int num_waiting = 0;
  int64_t num_pages = 0;
  int64_t num_pages_used = 0;
  int64_t page_size_tokens = 0;
  uint64_t num_steps = 0;
  uint64_t num_prompt_tokens = 0;
  uint64_t num_output_tokens = 0;
  uint64_t num_finished_stop = 0, num_finished_length = 0, num_cancelled = 0, num_failed = 0;
  uint64_t num_preemptions = 0;
  double last_step_ms = 0;
  /// Counters of the MoE backend by name ("expert_hits", "expert_misses", "bytes_fetched", …).
  std::vector<std::pair<std::string, double>> moe;
};

/// What the server talks to. Any thread may call any function.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual EngineInfo info() const = 0;
  virtual EngineStats stats() const = 0;

  /// Queues a request whose outputs go to the sink given at construction.
  /// Errors: kInvalidArgument (what is wrong with it); kResourceExhausted when it can never fit the
  /// window (message has both numbers and begins with "context_length_exceeded"); kUnavailable when
  /// the queue is full (message begins with "the queue is full") or the engine drains.
  virtual Result<RequestId> Submit(Request request) = 0;

  /// Ends a request within two steps; its last output has kCancelled. Unknown or finished ids are
  /// ignored.
  virtual void Cancel(RequestId request) = 0;

  /// No new requests from now on; running ones go on.
  virtual void Drain() = 0;
};

}  // namespace ft
