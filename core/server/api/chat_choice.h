// ChatChoice: one reply of a chat, from engine outputs to deltas. The same deltas make the stream
// and the whole message, so that the two cannot differ.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/json/value.h"
#include "core/server/api/error.h"
#include "core/server/text_services.h"

namespace ft::server {

struct ChatToolCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< JSON text
};

/// One piece of news. Exactly one of the first three is there, or none (only logprobs).
struct ChatDelta {
  std::string content;
  std::string reasoning;
  std::optional<ChatToolCall> tool_call;
  size_t tool_index = 0;
  json::Array logprobs;  ///< of tokens since the last delta
};

class ChatChoice {
 public:
  /// `text` must outlive this.
  ChatChoice(NewReplyParser parser, bool want_logprobs, const TextServices* text);

  /// Appends the news of one step. Errors: the parser failed.
  std::optional<ApiError> OnOutput(const RequestOutput& output, std::vector<ChatDelta>* deltas);

  bool finished() const { return !finish_reason_.empty(); }

  /// "stop", "length" or "tool_calls"; empty while it runs.
  const std::string& finish_reason() const { return finish_reason_; }

  int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  void AddEvents(std::vector<ReplyEvent> events, std::vector<ChatDelta>* deltas);

  std::unique_ptr<ReplyParser> parser_;
  const TextServices* text_;
  bool want_logprobs_;
  json::Array logprobs_;  // not yet sent
  std::optional<ChatToolCall> open_call_;
  size_t num_calls_ = 0;
  int64_t reasoning_tokens_ = 0;
  std::string finish_reason_;
};

}  // namespace ft::server
