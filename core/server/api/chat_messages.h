// `messages` and `tools` of a chat request: checked field by field, then in the one shape that
// TextServices::RenderChat gets.
#pragma once

#include <optional>

#include "core/json/value.h"
#include "core/server/api/error.h"

namespace ft::server {

/// An array of objects with role (developer becomes system), content (string or null; text parts
/// are joined by "\n"), and where sent: name, tool_calls, tool_call_id, reasoning_content.
/// `arguments` of calls are as sent: the renderer parses them. Errors name the place.
ApiResult<json::Value> ReadMessages(const json::Value& messages);

/// The array as sent. Errors name the place: no function, no name, `strict: true`.
std::optional<ApiError> CheckTools(const json::Value& tools);

}  // namespace ft::server
