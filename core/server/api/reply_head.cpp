#include "core/server/api/reply_head.h"

#include <fmt/format.h>

#include "core/json/write.h"

namespace ft::server {

std::string HeadJson(const ReplyHead& head, std::string_view object) {
  std::string out = "\"id\":";
  json::AppendQuoted(head.id, &out);
  out += ",\"object\":";
  json::AppendQuoted(object, &out);
  out += fmt::format(",\"created\":{},\"model\":", head.created);
  json::AppendQuoted(head.model, &out);
  return out;
}

}  // namespace ft::server
