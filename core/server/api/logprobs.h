// Log probabilities in the two forms of OpenAI's API.
#pragma once

#include <vector>

#include "core/engine/engine.h"
#include "core/json/value.h"
#include "core/server/text_services.h"

namespace ft::server {

/// One element of `choices[].logprobs.content` of a chat: token, logprob, bytes, top_logprobs.
json::Value ChatLogprob(const TokenOutput& token, const TextServices& text);

/// Collects `choices[].logprobs` of a completion: tokens, token_logprobs, top_logprobs,
/// text_offset.
class CompletionLogprobs {
 public:
  void Add(const TokenOutput& token, const TextServices& text);

  bool empty() const { return tokens_.empty(); }

  /// What was added since the last call; offsets go on.
  json::Value Take();

 private:
  json::Array tokens_, logprobs_, top_, offsets_;
  int64_t offset_ = 0;  // in characters
};

}  // namespace ft::server
