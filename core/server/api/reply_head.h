// What every piece of one reply repeats: id, time, model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ft::server {

struct ReplyHead {
  std::string id;
  int64_t created = 0;  ///< seconds since 1970
  std::string model;
};

/// `"id":…,"object":…,"created":…,"model":…` without braces.
std::string HeadJson(const ReplyHead& head, std::string_view object);

}  // namespace ft::server
