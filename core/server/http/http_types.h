// HTTP messages as the API layer sees them: no sockets, no Boost.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ft::server {

struct HttpRequest {
  std::string method;  ///< upper case
  std::string path;    ///< percent-decoded, without the query
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  ///< beside length, type, connection
};

}  // namespace ft::server
