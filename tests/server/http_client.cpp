#include "tests/server/http_client.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include "core/json/parse.h"

namespace ft::server {

ClientConnection::ClientConnection(uint16_t port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
  timeval limit{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

ClientConnection::~ClientConnection() {
  Close();
}

void ClientConnection::Close() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

void ClientConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;  // the server closed: what it answered can still be read
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool ClientConnection::Fill() {
  char bytes[16384];
  const ssize_t count = ::recv(fd_, bytes, sizeof(bytes), 0);
  if (count <= 0) {
    return false;
  }
  buffer_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string ClientConnection::Take(size_t count) {
  while (buffer_.size() < count && Fill()) {
  }
  const std::string taken = buffer_.substr(0, count);
  buffer_.erase(0, taken.size());
  return taken;
}

bool ClientConnection::ReadUntil(std::string_view text) {
  while (buffer_.find(text) == std::string::npos) {
    if (!Fill()) {
      return false;
    }
  }
  buffer_.erase(0, buffer_.find(text) + text.size());
  return true;
}

std::string ClientConnection::ReadToEnd() {
  while (Fill()) {
  }
  return std::move(buffer_);
}

ClientResponse ClientConnection::Receive(bool is_head) {
  ClientResponse response;
  while (buffer_.find("\r\n\r\n") == std::string::npos) {
    if (!Fill()) {
      return response;
    }
  }
  const std::string head = Take(buffer_.find("\r\n\r\n") + 4);
  response.status = std::atoi(head.c_str() + head.find(' '));
  for (size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
    const size_t end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    std::string name = line.substr(0, line.find(':'));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    response.headers[name] = line.substr(std::min(line.find(':') + 2, line.size()));
    at = end + 2;
  }
  if (is_head || response.status == 204) {
    return response;
  }
  if (response.headers.count("content-length") != 0) {
    response.body = Take(std::strtoul(response.headers["content-length"].c_str(), nullptr, 10));
  } else if (response.headers["transfer-encoding"] == "chunked") {
    for (;;) {
      while (buffer_.find("\r\n") == std::string::npos && Fill()) {
      }
      if (buffer_.find("\r\n") == std::string::npos) {
        response.body += "<cut>";
        break;
      }
      const std::string size_line = Take(buffer_.find("\r\n") + 2);
      const size_t size = std::strtoul(size_line.c_str(), nullptr, 16);
      response.body += Take(size);
      Take(2);
      if (size == 0) {
        break;
      }
    }
  } else {
    response.body = ReadToEnd();
  }
  return response;
}

std::string RequestText(std::string_view method,
                        std::string_view path,
                        std::string_view body,
                        std::string_view headers) {
  std::string out(method);
  out += " " + std::string(path) + " HTTP/1.1\r\n";
  if (headers.find("Host:") == std::string_view::npos) {
    out += "Host: localhost\r\n";
  }
  out += headers;
  if (!body.empty() || method == "POST") {
    out +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return out + "\r\n" + std::string(body);
}

ClientResponse Fetch(uint16_t port,
                     std::string_view method,
                     std::string_view path,
                     std::string_view body,
                     std::string_view headers) {
  ClientConnection connection(port);
  connection.Send(RequestText(method, path, body, headers));
  return connection.Receive(method == "HEAD");
}

std::vector<std::string> EventsOf(std::string_view body) {
  std::vector<std::string> events;
  while (!body.empty()) {
    const size_t end = body.find("\n\n");
    const std::string_view event = body.substr(0, end);
    if (event.starts_with("data: ")) {
      events.emplace_back(event.substr(6));
    }
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 2);
  }
  return events;
}

std::vector<json::Value> ChunksOf(std::string_view body) {
  std::vector<std::string> events = EventsOf(body);
  EXPECT_FALSE(events.empty()) << body;
  if (events.empty()) {
    return {};
  }
  EXPECT_EQ(events.back(), "[DONE]") << body;
  events.pop_back();
  std::vector<json::Value> chunks;
  for (const std::string& event : events) {
    Result<json::Value> parsed = json::Parse(event);
    EXPECT_TRUE(parsed.ok()) << event;
    if (parsed.ok()) {
      chunks.push_back(std::move(parsed).value());
    }
  }
  return chunks;
}

json::Value At(const json::Value& value, std::string_view path) {
  const json::Value* at = &value;
  while (at != nullptr && !path.empty()) {
    const size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    if (at->is_array()) {
      const size_t index = std::strtoul(key.c_str(), nullptr, 10);
      at = index < at->as_array().size() ? &at->as_array()[index] : nullptr;
    } else {
      at = at->Find(key);
    }
  }
  return at == nullptr ? json::Value() : *at;
}

}  // namespace ft::server
