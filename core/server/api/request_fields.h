// The fields that /v1/chat/completions and /v1/completions share: sampling, limits, stops, stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine.h"
#include "core/server/api/error.h"
#include "core/server/api/fields.h"

namespace ft::server {

/// What the checks need to know about this server.
struct RequestDefaults {
  std::string_view served_model_name;
  SamplingParams sampling;  ///< of a request that says nothing
  EngineInfo engine;
  int32_t vocab_size = 0;
  int max_choices = 1;
};

struct CommonFields {
  bool stream = false;
  bool include_usage = false;
  int n = 1;
  std::optional<int64_t> max_tokens;
  SamplingParams sampling;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  bool ignore_eos = false;
};

/// Parses a body with the limits of the network. Errors: 400 with line and column.
ApiResult<json::Value> ParseBody(std::string_view body, size_t max_bytes, int max_depth);

/// `model` must be absent or the served name (404 model_not_found).
void ReadModelField(FieldReader* reader, std::string_view served_model_name);

/// Reads all shared fields but logprobs, whose form differs. Errors are noted in `reader`.
CommonFields ReadCommonFields(FieldReader* reader, const RequestDefaults& defaults);

/// Token ids in [0, vocab_size); `name` is for messages.
std::optional<std::vector<int32_t>> ReadTokenIds(const json::Value& array,
                                                 const std::string& path,
                                                 int32_t vocab_size,
                                                 ApiError* error);

/// The engine's request for one prompt. Errors: context_length_exceeded, or max_tokens beyond what
/// the server allows.
ApiResult<Request> MakeRequest(std::vector<int32_t> prompt_ids,
                               const CommonFields& fields,
                               const EngineInfo& engine);

}  // namespace ft::server
