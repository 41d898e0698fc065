// Reading members of JSON objects with errors that name them. Used by the tokenizer's readers only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/json/value.h"

namespace ft::text {

/// The string `key` of `object`. Errors: kDataLoss: absent or no string.
Result<std::string> RequireString(const json::Value& object, std::string_view key);

/// The member `key`. Errors: kDataLoss: absent or of another kind.
Result<const json::Value*> RequireMember(const json::Value& object,
                                         std::string_view key,
                                         json::Kind kind);

/// `key`, or `fallback` when absent or null. Errors: kDataLoss: of another kind.
Result<bool> BoolOr(const json::Value& object, std::string_view key, bool fallback);
Result<std::string> StringOr(const json::Value& object,
                             std::string_view key,
                             std::string_view fallback);

/// The "type" of a part of tokenizer.json, or "" for null. Errors: kDataLoss.
Result<std::string> TypeOf(const json::Value& part);

/// A token id: 0 ≤ id < kMaxTokenId. Errors: kDataLoss.
Result<int32_t> ReadTokenId(const json::Value& value);

/// Ids are indices of tables here, so a broken file must not name a huge one.
inline constexpr int32_t kMaxTokenId = 1 << 24;

}  // namespace ft::text
