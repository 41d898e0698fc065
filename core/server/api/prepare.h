// From a request's body to work for the engine: parse, check, render, tokenize. Pure and slow
// (megabytes of JSON, long prompts): runs on a worker thread, never on the I/O thread.
#pragma once

#include <memory>
#include <string_view>

#include "core/server/api/generation.h"
#include "core/server/server.h"

namespace ft::server {

/// What every function here needs. The pointees outlive the call.
struct PrepareContext {
  const ServerOptions& options;
  const ServedModel& model;
};

/// POST /v1/chat/completions.
ApiResult<std::unique_ptr<Generation>> PrepareChat(const PrepareContext& context,
                                                   std::string_view body);

/// POST /v1/completions.
ApiResult<std::unique_ptr<Generation>> PrepareCompletion(const PrepareContext& context,
                                                         std::string_view body);

/// POST /tokenize: `{"prompt"}` or `{"messages", …}` to `{"count","max_model_len","tokens"}`.
HttpResponse Tokenize(const PrepareContext& context, std::string_view body);

/// POST /detokenize: `{"tokens"}` to `{"prompt"}`.
HttpResponse Detokenize(const PrepareContext& context, std::string_view body);

}  // namespace ft::server
