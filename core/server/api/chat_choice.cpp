#include "core/server/api/chat_choice.h"

#include <utility>

#include "core/server/api/generation.h"
#include "core/server/api/logprobs.h"

namespace ft::server {

ChatChoice::ChatChoice(NewReplyParser parser, bool want_logprobs, const TextServices* text)
    : parser_(std::move(parser.parser)), text_(text), want_logprobs_(want_logprobs) {}

std::optional<ApiError> ChatChoice::OnOutput(const RequestOutput& output,
                                             std::vector<ChatDelta>* deltas) {
  std::vector<ReplyEvent> events;
  for (const TokenOutput& token : output.tokens) {
    const bool was_reasoning = parser_->in_reasoning();
    if (const Status status = parser_->Push(token, &events); !status.ok()) {
      return FromStatus(status);
    }
    if (token.token_id < 0) {
      continue;
    }
    // The marker that ends the thought belongs to it.
    reasoning_tokens_ += was_reasoning || parser_->in_reasoning() ? 1 : 0;
    if (want_logprobs_) {
      logprobs_.push_back(ChatLogprob(token, *text_));
    }
  }
  if (output.finish.has_value()) {
    if (const Status status = parser_->Finish(&events); !status.ok()) {
      return FromStatus(status);
    }
  }
  AddEvents(std::move(events), deltas);
  if (!deltas->empty()) {
    deltas->front().logprobs = std::exchange(logprobs_, {});
  } else if (output.finish.has_value() && !logprobs_.empty()) {
    deltas->emplace_back().logprobs = std::exchange(logprobs_, {});
  }
  if (output.finish.has_value()) {
    const bool is_cut = *output.finish == FinishReason::kLength;
    finish_reason_ = is_cut ? "length" : num_calls_ > 0 ? "tool_calls" : "stop";
  }
  return std::nullopt;
}

// One case a kind of event.  NOLINTNEXTLINE(readability-function-cognitive-complexity)
void ChatChoice::AddEvents(std::vector<ReplyEvent> events, std::vector<ChatDelta>* deltas) {
  for (ReplyEvent& event : events) {
    switch (event.kind) {
      case ReplyEvent::Kind::kContent:
        if (event.text.empty()) {
          break;
        }
        if (deltas->empty() || deltas->back().content.empty()) {
          deltas->emplace_back();
        }
        deltas->back().content += event.text;
        break;
      case ReplyEvent::Kind::kReasoning:
        if (event.text.empty()) {
          break;
        }
        if (deltas->empty() || deltas->back().reasoning.empty()) {
          deltas->emplace_back();
        }
        deltas->back().reasoning += event.text;
        break;
      // A call is sent once it is whole: a cut one must not reach the client in part.
      case ReplyEvent::Kind::kToolBegin:
        open_call_ = ChatToolCall{RandomId("call_"), std::move(event.text), ""};
        break;
      case ReplyEvent::Kind::kToolArgs:
        if (open_call_.has_value()) {
          open_call_->arguments += event.text;
        }
        break;
      case ReplyEvent::Kind::kToolEnd:
        if (open_call_.has_value()) {
          if (open_call_->arguments.empty()) {
            open_call_->arguments = "{}";
          }
          ChatDelta& delta = deltas->emplace_back();
          delta.tool_call = std::exchange(open_call_, std::nullopt);
          delta.tool_index = num_calls_++;
        }
        break;
    }
  }
}

}  // namespace ft::server
