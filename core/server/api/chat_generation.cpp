#include "core/server/api/chat_generation.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/json/write.h"

namespace ft::server {
namespace {

void AppendLogprobs(json::Array logprobs, std::string* out) {
  json::Value value = json::Value::MakeObject();
  value.Set("content", std::move(logprobs));
  value.Set("refusal", json::Value());
  *out += json::Write(value);
}

// `{"id":…,"type":"function","function":{"name":…,"arguments":…}}`; `index` only in streams.
void AppendToolCall(const ChatToolCall& call, std::string_view index, std::string* out) {
  *out += "{" + std::string(index) + "\"id\":";
  json::AppendQuoted(call.id, out);
  *out += ",\"type\":\"function\",\"function\":{\"name\":";
  json::AppendQuoted(call.name, out);
  *out += ",\"arguments\":";
  json::AppendQuoted(call.arguments, out);
  *out += "}}";
}

// Thoughts go out under both names that clients read.
void AppendReasoning(std::string_view text, std::string* out) {
  std::string quoted;
  json::AppendQuoted(text, &quoted);
  *out += "\"reasoning_content\":" + quoted + ",\"reasoning\":" + quoted;
}

struct Message {
  std::string content;
  std::string reasoning;
  std::vector<ChatToolCall> calls;
  json::Array logprobs;
};

class ChatGeneration final : public Generation {
 public:
  ChatGeneration(ChatGenerationOptions options,
                 std::vector<NewReplyParser> parsers,
                 const TextServices* text)
      : options_(std::move(options)),
        chunk_head_("data: {" + HeadJson(options_.head, "chat.completion.chunk")),
        messages_(parsers.size()),
        has_begun_(parsers.size(), false) {
    stream = options_.stream;
    for (NewReplyParser& parser : parsers) {
      choices_.emplace_back(std::move(parser), options_.want_logprobs, text);
    }
  }

  std::optional<ApiError> OnOutput(size_t choice,
                                   const RequestOutput& output,
                                   std::string* sse) override {
    if (auto error = FailureOf(output)) {
      return error;
    }
    std::vector<ChatDelta> deltas;
    if (auto error = choices_[choice].OnOutput(output, &deltas)) {
      return error;
    }
    if (stream) {
      AppendChunks(choice, &deltas, sse);
    } else {
      Collect(std::move(deltas), &messages_[choice]);
    }
    if (output.finish.has_value()) {
      usage_.prompt_tokens = output.num_prompt_tokens;
      usage_.cached_tokens = output.num_cached_tokens;
      usage_.completion_tokens += output.num_output_tokens;
      usage_.reasoning_tokens += choices_[choice].reasoning_tokens();
    }
    return std::nullopt;
  }

  std::string End() override {
    std::string out;
    if (options_.include_usage) {
      out = chunk_head_ + ",\"choices\":[],\"usage\":" + UsageJson(usage_) + "}\n\n";
    }
    return out + "data: [DONE]\n\n";
  }

  HttpResponse Whole() override {
    HttpResponse response;
    response.body = "{" + HeadJson(options_.head, "chat.completion") + ",\"choices\":[";
    for (size_t i = 0; i < choices_.size(); ++i) {
      response.body += i == 0 ? "" : ",";
      AppendMessage(i, &response.body);
    }
    response.body += "],\"usage\":" + UsageJson(usage_) + "}";
    return response;
  }

  Usage usage() const override { return usage_; }

  std::string finish_reasons() const override {
    std::string out;
    for (const ChatChoice& choice : choices_) {
      out += (out.empty() ? "" : ",") + choice.finish_reason();
    }
    return out;
  }

 private:
  static void Collect(std::vector<ChatDelta> deltas, Message* message) {
    for (ChatDelta& delta : deltas) {
      message->content += delta.content;
      message->reasoning += delta.reasoning;
      if (delta.tool_call.has_value()) {
        message->calls.push_back(std::move(*delta.tool_call));
      }
      for (json::Value& logprob : delta.logprobs) {
        message->logprobs.push_back(std::move(logprob));
      }
    }
  }

  void AppendChunk(size_t choice,
                   std::string_view delta,
                   json::Array logprobs,
                   std::string_view finish_reason,
                   std::string* sse) {
    *sse += chunk_head_;
    *sse +=
        fmt::format(",\"choices\":[{{\"index\":{},\"delta\":{{{}}},\"logprobs\":", choice, delta);
    if (options_.want_logprobs && !logprobs.empty()) {
      AppendLogprobs(std::move(logprobs), sse);
    } else {
      *sse += "null";
    }
    *sse += ",\"finish_reason\":";
    *sse += finish_reason.empty() ? "null" : fmt::format("\"{}\"", finish_reason);
    *sse += options_.include_usage ? "}],\"usage\":null}\n\n" : "}]}\n\n";
  }

  void AppendChunks(size_t choice, std::vector<ChatDelta>* deltas, std::string* sse) {
    if (!has_begun_[choice]) {
      has_begun_[choice] = true;
      AppendChunk(choice, "\"role\":\"assistant\",\"content\":\"\"", {}, "", sse);
    }
    for (ChatDelta& delta : *deltas) {
      std::string text;
      if (delta.tool_call.has_value()) {
        text = "\"tool_calls\":[";
        AppendToolCall(*delta.tool_call, fmt::format("\"index\":{},", delta.tool_index), &text);
        text += "]";
      } else if (!delta.reasoning.empty()) {
        AppendReasoning(delta.reasoning, &text);
      } else if (!delta.content.empty()) {
        text = "\"content\":";
        json::AppendQuoted(delta.content, &text);
      }
      AppendChunk(choice, text, std::move(delta.logprobs), "", sse);
    }
    if (choices_[choice].finished()) {
      AppendChunk(choice, "", {}, choices_[choice].finish_reason(), sse);
    }
  }

  void AppendMessage(size_t index, std::string* out) {
    Message& message = messages_[index];
    *out += fmt::format("{{\"index\":{},\"message\":{{\"role\":\"assistant\",\"content\":", index);
    if (message.content.empty() && !message.calls.empty()) {
      *out += "null";
    } else {
      json::AppendQuoted(message.content, out);
    }
    *out += ",\"refusal\":null";
    if (!message.reasoning.empty()) {
      *out += ",";
      AppendReasoning(message.reasoning, out);
    }
    for (size_t i = 0; i < message.calls.size(); ++i) {
      *out += i == 0 ? ",\"tool_calls\":[" : ",";
      AppendToolCall(message.calls[i], "", out);
    }
    *out += message.calls.empty() ? "}" : "]}";
    *out += ",\"logprobs\":";
    if (options_.want_logprobs) {
      AppendLogprobs(std::move(message.logprobs), out);
    } else {
      *out += "null";
    }
    *out += fmt::format(",\"finish_reason\":\"{}\"}}", choices_[index].finish_reason());
  }

  ChatGenerationOptions options_;
  std::string chunk_head_;
  std::vector<ChatChoice> choices_;
  std::vector<Message> messages_;  // of requests that do not stream
  std::vector<bool> has_begun_;
  Usage usage_;
};

}  // namespace

std::unique_ptr<Generation> MakeChatGeneration(ChatGenerationOptions options,
                                               std::vector<NewReplyParser> parsers,
                                               const TextServices* text) {
  return std::make_unique<ChatGeneration>(std::move(options), std::move(parsers), text);
}

}  // namespace ft::server
