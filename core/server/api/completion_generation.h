// A text completion under way: chunks for a stream, or one answer. No parsers here: text is text.
#pragma once

#include <memory>
#include <string>

#include "core/server/api/generation.h"
#include "core/server/api/reply_head.h"
#include "core/server/text_services.h"

namespace ft::server {

struct CompletionGenerationOptions {
  ReplyHead head;
  bool stream = false;
  bool include_usage = false;
  bool want_logprobs = false;
  size_t num_choices = 1;
  size_t choices_per_prompt = 1;  ///< `n`: a prompt's tokens count once for its choices
};

/// `requests` are left to the caller. `text` must outlive the result.
std::unique_ptr<Generation> MakeCompletionGeneration(CompletionGenerationOptions options,
                                                     const TextServices* text);

}  // namespace ft::server
