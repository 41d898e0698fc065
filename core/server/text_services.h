// TextServices: what the server asks of the model's text side (template, tokenizer, parsers). One
// seam, so that the wire can be tested with a scripted model. The real one is in model_text.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/engine/engine.h"
#include "core/json/value.h"

namespace ft::server {

/// What a chat template gets to see.
struct ChatPrompt {
  json::Value messages;  ///< array of objects as the API layer checked them (chat_messages.h)
  json::Value tools;     ///< array, or null
  json::Value kwargs;    ///< object: chat_template_kwargs and what reasoning_effort means
  bool add_generation_prompt = true;
};

/// A part of a reply. Tool events come as kToolBegin, kToolArgs…, kToolEnd; the end is missing when
/// the call was cut.
struct ReplyEvent {
  enum class Kind {
    kContent,
    kReasoning,
    kToolBegin,  ///< text = function name, complete
    kToolArgs,   ///< text = next piece of the JSON arguments
    kToolEnd
  };
  Kind kind = Kind::kContent;
  uint32_t tool_index = 0;  ///< 0-based, of tool events
  std::string text;
};

/// Splits one reply into thoughts, content and calls. One thread at a time.
class ReplyParser {
 public:
  virtual ~ReplyParser() = default;

  /// Appends what `token` made certain. Errors: whatever a parser plugin reports.
  virtual Status Push(const TokenOutput& token, std::vector<ReplyEvent>* events) = 0;

  /// The reply ended: appends what was held back.
  virtual Status Finish(std::vector<ReplyEvent>* events) = 0;

  /// Is the reply inside a thought now? Counts reasoning tokens.
  virtual bool in_reasoning() const = 0;
};

struct ReplyParserOptions {
  std::string_view rendered_prompt;    ///< where the reply starts is read from it
  const json::Value* tools = nullptr;  ///< array: calls are looked for; null: they are content
};

struct NewReplyParser {
  std::unique_ptr<ReplyParser> parser;  ///< never null
  bool starts_in_reasoning = false;     ///< the rendered prompt ends inside a thought
};

/// Any thread may call any function. Functions with a Result report a bad request as
/// kInvalidArgument; the message then goes to the client as it is.
class TextServices {
 public:
  virtual ~TextServices() = default;

  /// The prompt as the model sees it. Errors: kFailedPrecondition: the model has no chat template;
  /// kInvalidArgument: the template refused the messages (its own words).
  virtual Result<std::string> RenderChat(const ChatPrompt& prompt) const = 0;

  virtual Result<std::vector<int32_t>> Encode(std::string_view text,
                                              bool add_special_tokens) const = 0;
  virtual std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const = 0;

  /// The bytes that the token adds to a text; may be part of a character.
  virtual std::string TokenBytes(int32_t id) const = 0;

  /// Ids are in [0, vocab_size).
  virtual int32_t vocab_size() const = 0;

  virtual Result<NewReplyParser> MakeReplyParser(const ReplyParserOptions& options) const = 0;
};

}  // namespace ft::server
