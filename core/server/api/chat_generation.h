// A chat completion under way: chunks for a stream, or one message.
#pragma once

#include <memory>
#include <vector>

#include "core/server/api/chat_choice.h"
#include "core/server/api/generation.h"
#include "core/server/api/reply_head.h"

namespace ft::server {

struct ChatGenerationOptions {
  ReplyHead head;
  bool stream = false;
  bool include_usage = false;
  bool want_logprobs = false;
};

/// `requests` are left to the caller; `parsers`, one per choice, decide how many there are. `text`
/// must outlive the result.
std::unique_ptr<Generation> MakeChatGeneration(ChatGenerationOptions options,
                                               std::vector<NewReplyParser> parsers,
                                               const TextServices* text);

}  // namespace ft::server
