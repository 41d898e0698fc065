// A body of /v1/chat/completions, checked. Nothing is rendered or tokenized here.
#pragma once

#include "core/server/api/request_fields.h"
#include "core/server/text_services.h"

namespace ft::server {

struct ChatRequest {
  CommonFields common;
  ChatPrompt prompt;
  bool use_tools = false;          ///< calls are looked for in the reply
  bool wants_no_thinking = false;  ///< reasoning_effort said so
};

/// `default_kwargs`: the server's own chat_template_kwargs (object); the request wins.
ApiResult<ChatRequest> ReadChatRequest(const json::Value& body,
                                       const RequestDefaults& defaults,
                                       const json::Value& default_kwargs);

/// `messages`, `tools` and the template's switches alone, as /tokenize takes them too.
void ReadChatPrompt(FieldReader* reader, const json::Value& default_kwargs, ChatRequest* request);

}  // namespace ft::server
