// ChatClient: a small blocking client of an OpenAI-compatible server, for `ft chat`. Plain HTTP
// only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/json/value.h"

namespace ft::app {

/// Where a server is. `http://host[:port]`, nothing behind it.
struct ServerAddress {
  std::string host;
  std::string port;
};

/// Errors: kInvalidArgument for anything but http://host[:port].
Result<ServerAddress> ParseServerUrl(std::string_view url);

/// What a streamed reply came to.
struct ChatReply {
  std::string content;
  std::string reasoning;
  json::Value tool_calls;  ///< array of calls as the messages of a request want them, or null
  std::string finish_reason;
  int64_t num_prompt_tokens = 0;
  int64_t num_output_tokens = 0;
};

/// Reads Server-Sent Events from pieces of a stream, however it was cut.
class SseReader {
 public:
  /// Appends bytes; calls `on_data` with each event's joined data. Comments are passed over.
  void Push(std::string_view bytes, const std::function<void(std::string_view data)>& on_data);

 private:
  std::string buffer_;
  std::string data_;
  bool has_data_ = false;
};

/// Adds one chunk of a streamed chat completion to a reply; `on_text(is_reasoning, text)` gets what
/// is new. Errors: kUnavailable with the server's words when the chunk is an error; kDataLoss when
/// it is no chunk.
Status AddChunk(std::string_view data,
                ChatReply* reply,
                const std::function<void(bool is_reasoning, std::string_view text)>& on_text);

/// Streams one POST /v1/chat/completions. `should_stop` is asked between pieces; true hangs up,
/// which cancels the request. Errors: kUnavailable: no connection, or the server's own error
/// message.
Result<ChatReply> StreamChat(
    const ServerAddress& server,
    const std::string& api_key,
    const json::Value& request,
    const std::function<void(bool is_reasoning, std::string_view text)>& on_text,
    const std::function<bool()>& should_stop);

/// GET a path and parse the answer. Errors: kUnavailable, with the status code where there is one.
Result<json::Value> GetJson(const ServerAddress& server,
                            const std::string& api_key,
                            const std::string& path);

}  // namespace ft::app
