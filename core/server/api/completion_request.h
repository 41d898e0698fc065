// A body of /v1/completions, checked. Nothing is tokenized here.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/server/api/request_fields.h"

namespace ft::server {

using PromptText = std::string;
using PromptIds = std::vector<int32_t>;

struct CompletionRequest {
  CommonFields common;
  std::vector<std::variant<PromptText, PromptIds>> prompts;  ///< not empty
};

ApiResult<CompletionRequest> ReadCompletionRequest(const json::Value& body,
                                                   const RequestDefaults& defaults);

}  // namespace ft::server
