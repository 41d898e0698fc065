// A small blocking HTTP client over a loopback socket, for tests only: it shows what was sent byte
// by byte, and can leave at any moment. Waits at most 20 s for anything.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/value.h"

namespace ft::server {

struct ClientResponse {
  int status = 0;                              ///< 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;                            ///< chunks joined
};

class ClientConnection {
 public:
  explicit ClientConnection(uint16_t port);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  void Send(std::string_view bytes);

  /// One whole response. With `is_head` there is no body.
  ClientResponse Receive(bool is_head = false);

  /// Reads until `text` has come; false when the connection ended first.
  bool ReadUntil(std::string_view text);

  /// Everything until the other side closes.
  std::string ReadToEnd();

  void Close();

 private:
  bool Fill();
  std::string Take(size_t count);

  int fd_ = -1;
  std::string buffer_;
};

/// A request as text: HTTP/1.1, Host, Content-Length, and `headers` ("name: value\r\n"…).
std::string RequestText(std::string_view method,
                        std::string_view path,
                        std::string_view body = {},
                        std::string_view headers = {});

ClientResponse Fetch(uint16_t port,
                     std::string_view method,
                     std::string_view path,
                     std::string_view body = {},
                     std::string_view headers = {});

/// The `data:` payloads of an event stream, in order.
std::vector<std::string> EventsOf(std::string_view body);

/// The same, parsed, without the last "[DONE]" (which is expected).
std::vector<json::Value> ChunksOf(std::string_view body);

/// `value` at a path such as "choices.0.delta.content"; null when it is not there.
json::Value At(const json::Value& value, std::string_view path);

}  // namespace ft::server
