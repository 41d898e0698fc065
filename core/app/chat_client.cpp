#include "core/app/chat_client.h"

#include <array>
#include <chrono>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/json/write.h"

namespace ft::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto kConnectTimeout = std::chrono::seconds(10);
constexpr size_t kMaxAnswerBytes = size_t{16} << 20;

std::string ErrorMessage(const std::string& body, unsigned status) {
  const Result<json::Value> document = json::Parse(body);
  if (document.ok()) {
    const json::Value* error = document->Find("error");
    const json::Value* message = error == nullptr ? nullptr : error->Find("message");
    if (message != nullptr && message->is_string()) {
      return message->as_string();
    }
  }
  return fmt::format("the server answered with status {}", status);
}

http::request<http::string_body> MakeRequest(const ServerAddress& server,
                                             const std::string& api_key,
                                             http::verb verb,
                                             const std::string& path) {
  http::request<http::string_body> request(verb, path, 11);
  request.set(http::field::host, server.host + ":" + server.port);
  request.set(http::field::connection, "close");
  if (!api_key.empty()) {
    request.set(http::field::authorization, "Bearer " + api_key);
  }
  return request;
}

Status ConnectError(const ServerAddress& server, const beast::error_code& error) {
  return Unavailable("no server answers at http://{}:{} ({}); start one with: ft serve --model DIR",
                     server.host, server.port, error.message());
}

// Connects and sends; the stream is then ready to read from.
Status Send(beast::tcp_stream* stream,
            asio::io_context* context,
            const ServerAddress& server,
            const http::request<http::string_body>& request) {
  beast::error_code error;
  asio::ip::tcp::resolver resolver(*context);
  const auto endpoints = resolver.resolve(server.host, server.port, error);
  if (error) {
    return ConnectError(server, error);
  }
  stream->expires_after(kConnectTimeout);
  stream->connect(endpoints, error);
  if (error) {
    return ConnectError(server, error);
  }
  stream->expires_never();
  http::write(*stream, request, error);
  return error ? ConnectError(server, error) : Status();
}

std::string StringAt(const json::Value& value, const char* key) {
  const json::Value* found = value.Find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

void AppendTo(json::Value* object, const char* key, const std::string& text) {
  object->Set(key, json::Value(StringAt(*object, key) + text));
}

// Deltas of calls carry an index; name and arguments come in pieces.
void AddToolCallDeltas(const json::Value& deltas, ChatReply* reply) {
  if (!deltas.is_array()) {
    return;
  }
  for (const json::Value& delta : deltas.as_array()) {
    const json::Value* index_value = delta.Find("index");
    const int64_t index = index_value == nullptr ? 0 : index_value->ToInt64().value_or(0);
    if (index < 0 || index > 255) {
      continue;
    }
    if (!reply->tool_calls.is_array()) {
      reply->tool_calls = json::Value::MakeArray();
    }
    json::Array& calls = reply->tool_calls.as_array();
    while (static_cast<int64_t>(calls.size()) <= index) {
      json::Value call = json::Value::MakeObject();
      call.Set("type", json::Value("function"));
      call.Set("function", json::Value::MakeObject());
      calls.push_back(std::move(call));
    }
    json::Value& call = calls[static_cast<size_t>(index)];
    if (!StringAt(delta, "id").empty()) {
      call.Set("id", json::Value(StringAt(delta, "id")));
    }
    if (const json::Value* function = delta.Find("function")) {
      AppendTo(call.Find("function"), "name", StringAt(*function, "name"));
      AppendTo(call.Find("function"), "arguments", StringAt(*function, "arguments"));
    }
  }
}

}  // namespace

Result<ServerAddress> ParseServerUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  const std::string original(url);
  if (!url.starts_with(kScheme)) {
    return InvalidArgument("'{}' is no server address: write http://HOST:PORT", original);
  }
  url.remove_prefix(kScheme.size());
  if (url.ends_with("/")) {
    url.remove_suffix(1);
  }
  if (url.ends_with("/v1")) {
    url.remove_suffix(3);
  }
  const size_t colon = url.rfind(':');
  const size_t bracket = url.rfind(']');
  ServerAddress address;
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
    address.host = std::string(url);
    address.port = "80";
  } else {
    address.host = std::string(url.substr(0, colon));
    address.port = std::string(url.substr(colon + 1));
  }
  if (address.host.starts_with("[") && address.host.ends_with("]")) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host.empty() || address.host.find('/') != std::string::npos || address.port.empty() ||
      address.port.find_first_not_of("0123456789") != std::string::npos) {
    return InvalidArgument("'{}' is no server address: write http://HOST:PORT", original);
  }
  return address;
}

void SseReader::Push(std::string_view bytes, const std::function<void(std::string_view)>& on_data) {
  buffer_ += bytes;
  size_t begin = 0;
  for (size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n', begin)) {
    std::string_view line = std::string_view(buffer_).substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      if (has_data_) {
        on_data(data_);
      }
      data_.clear();
      has_data_ = false;
    } else if (line.starts_with("data:")) {
      line.remove_prefix(5);
      if (line.starts_with(" ")) {
        line.remove_prefix(1);
      }
      data_ += has_data_ ? "\n" : "";
      data_ += line;
      has_data_ = true;
    }
  }
  buffer_.erase(0, begin);
}

Status AddChunk(std::string_view data,
                ChatReply* reply,
                const std::function<void(bool, std::string_view)>& on_text) {
  if (data == "[DONE]") {
    return Status();
  }
  const Result<json::Value> chunk = json::Parse(data);
  if (!chunk.ok()) {
    return chunk.status().WithContext("the server sent an event that is no JSON");
  }
  if (const json::Value* error = chunk->Find("error"); error != nullptr && !error->is_null()) {
    return Unavailable("{}", StringAt(*error, "message"));
  }
  if (const json::Value* usage = chunk->Find("usage"); usage != nullptr && usage->is_object()) {
    const json::Value* prompt = usage->Find("prompt_tokens");
    const json::Value* output = usage->Find("completion_tokens");
    reply->num_prompt_tokens = prompt == nullptr ? 0 : prompt->ToInt64().value_or(0);
    reply->num_output_tokens = output == nullptr ? 0 : output->ToInt64().value_or(0);
  }
  const json::Value* choices = chunk->Find("choices");
  if (choices == nullptr || !choices->is_array() || choices->as_array().empty()) {
    return Status();
  }
  const json::Value& choice = choices->as_array()[0];
  if (!StringAt(choice, "finish_reason").empty()) {
    reply->finish_reason = StringAt(choice, "finish_reason");
  }
  const json::Value* delta = choice.Find("delta");
  if (delta == nullptr) {
    return Status();
  }
  const std::string reasoning = StringAt(*delta, "reasoning_content");
  const std::string content = StringAt(*delta, "content");
  if (!reasoning.empty()) {
    reply->reasoning += reasoning;
    on_text(true, reasoning);
  }
  if (!content.empty()) {
    reply->content += content;
    on_text(false, content);
  }
  if (const json::Value* calls = delta->Find("tool_calls")) {
    AddToolCallDeltas(*calls, reply);
  }
  return Status();
}

Result<ChatReply> StreamChat(const ServerAddress& server,
                             const std::string& api_key,
                             const json::Value& request,
                             const std::function<void(bool, std::string_view)>& on_text,
                             const std::function<bool()>& should_stop) {
  asio::io_context context;
  beast::tcp_stream stream(context);
  auto message = MakeRequest(server, api_key, http::verb::post, "/v1/chat/completions");
  message.set(http::field::content_type, "application/json");
  message.body() = json::Write(request);
  message.prepare_payload();
  FT_RETURN_IF_ERROR(Send(&stream, &context, server, message));
  beast::flat_buffer buffer;
  beast::error_code error;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  http::read_header(stream, buffer, parser, error);
  if (error) {
    return Unavailable("the server hung up ({})", error.message());
  }
  const unsigned status_code = parser.get().result_int();
  ChatReply reply;
  SseReader events;
  std::string error_body;
  Status status;
  std::array<char, 4096> chunk{};
  while (!parser.is_done() && status.ok() && !should_stop()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    http::read_some(stream, buffer, parser, error);
    if (error == http::error::need_buffer) {
      error = {};
    }
    const std::string_view bytes(chunk.data(), chunk.size() - parser.get().body().size);
    if (status_code != 200) {
      error_body += bytes;
    } else {
      events.Push(bytes, [&](std::string_view data) {
        if (status.ok()) {
          status = AddChunk(data, &reply, on_text);
        }
      });
    }
    if (error) {
      return Unavailable("the server hung up in the middle of the reply ({})", error.message());
    }
  }
  if (status_code != 200) {
    return Unavailable("{}", ErrorMessage(error_body, status_code));
  }
  FT_RETURN_IF_ERROR(status);
  return reply;
}

Result<json::Value> GetJson(const ServerAddress& server,
                            const std::string& api_key,
                            const std::string& path) {
  asio::io_context context;
  beast::tcp_stream stream(context);
  FT_RETURN_IF_ERROR(
      Send(&stream, &context, server, MakeRequest(server, api_key, http::verb::get, path)));
  beast::flat_buffer buffer;
  beast::error_code error;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxAnswerBytes);
  http::read(stream, buffer, parser, error);
  if (error) {
    return Unavailable("the server hung up ({})", error.message());
  }
  if (parser.get().result_int() != 200) {
    return Unavailable("{}", ErrorMessage(parser.get().body(), parser.get().result_int()));
  }
  return json::Parse(parser.get().body());
}

}  // namespace ft::app
