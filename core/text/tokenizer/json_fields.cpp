#include "core/text/tokenizer/json_fields.h"

#include "core/base/errors.h"

namespace ft::text {

Result<const json::Value*> RequireMember(const json::Value& object,
                                         std::string_view key,
                                         json::Kind kind) {
  const json::Value* member = object.Find(key);
  if (member == nullptr) {
    return DataLoss("\"{}\" is missing", key);
  }
  if (member->kind() != kind) {
    return DataLoss("\"{}\" is {}, want {}", key, json::KindName(member->kind()),
                    json::KindName(kind));
  }
  return member;
}

Result<std::string> RequireString(const json::Value& object, std::string_view key) {
  FT_ASSIGN_OR_RETURN(const json::Value* member, RequireMember(object, key, json::Kind::kString));
  return member->as_string();
}

Result<bool> BoolOr(const json::Value& object, std::string_view key, bool fallback) {
  const json::Value* member = object.Find(key);
  if (member == nullptr || member->is_null()) {
    return fallback;
  }
  if (!member->is_bool()) {
    return DataLoss("\"{}\" is {}, want boolean", key, json::KindName(member->kind()));
  }
  return member->as_bool();
}

Result<std::string> StringOr(const json::Value& object,
                             std::string_view key,
                             std::string_view fallback) {
  const json::Value* member = object.Find(key);
  if (member == nullptr || member->is_null()) {
    return std::string(fallback);
  }
  return RequireString(object, key);
}

Result<std::string> TypeOf(const json::Value& part) {
  if (part.is_null()) {
    return std::string();
  }
  if (!part.is_object()) {
    return DataLoss("is {}, want object or null", json::KindName(part.kind()));
  }
  FT_ASSIGN_OR_RETURN(std::string type, RequireString(part, "type"));
  if (type.empty()) {
    return DataLoss("\"type\" is empty");
  }
  return type;
}

Result<int32_t> ReadTokenId(const json::Value& value) {
  const std::optional<int64_t> id = value.ToInt64();
  if (!id || *id < 0 || *id >= kMaxTokenId) {
    return DataLoss("a token id is {}, want an integer from 0 to {}",
                    value.is_number() ? value.as_number().text : json::KindName(value.kind()),
                    kMaxTokenId - 1);
  }
  return static_cast<int32_t>(*id);
}

}  // namespace ft::text
