// Chat templates: messages, tools and switches to the prompt's text, as Hugging Face's Python
// library (5.24) does it. The engine below is core/text/jinja; nothing here knows a model by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"

namespace ft::jinja {
class Template;
}  // namespace ft::jinja

namespace ft::text {

/// What one render may use. A template that needs more ends with kResourceExhausted.
struct RenderLimits {
  size_t max_output_bytes = size_t{64} << 20;   ///< the prompt, and any string on the way to it
  size_t max_memory_bytes = size_t{512} << 20;  ///< live values
  int64_t max_steps = 50'000'000;               ///< expressions, loop turns and their like
};

struct RenderOptions {
  /// What strftime_now sees, as broken-down local time; the real time when empty. Of the fields
  /// tm_year, tm_mon, tm_mday, tm_hour, tm_min and tm_sec count; the rest is computed.
  std::optional<std::tm> now;
  RenderLimits limits;
};

/// Longest template source that Parse takes.
inline constexpr size_t kMaxTemplateBytes = size_t{4} << 20;

/// One parsed template. Immutable; copies share it; any number of threads may render it.
class ChatTemplate {
 public:
  /// Parses `source` (UTF-8) with trim_blocks, lstrip_blocks, loop controls and the generation
  /// block, as `transformers` compiles chat templates.
  /// Errors: kInvalidArgument with the line: syntax, unknown filter; kResourceExhausted: nesting or
  /// size beyond the limits.
  static Result<ChatTemplate> Parse(std::string source);

  /// The template with exactly the variables in `context` (an object); others are undefined.
  /// Errors: kInvalidArgument: the template called raise_exception (the message is its own, alone),
  /// or an expression failed (with the line); kResourceExhausted: see RenderLimits.
  Result<std::string> Render(const json::Value& context, const RenderOptions& options = {}) const;

  const std::string& source() const { return *source_; }

 private:
  ChatTemplate() = default;

  // Shared: templates are handed to every request's thread and never change.
  std::shared_ptr<const std::string> source_;
  std::shared_ptr<const jinja::Template> template_;
};

/// What ApplyChatTemplate of a ChatTemplateSet gets besides the messages.
struct ApplyOptions {
  const json::Value* tools = nullptr;   ///< array of objects, or null / nullptr for none
  const json::Value* kwargs = nullptr;  ///< object: add_generation_prompt (bool),
                                        ///< continue_final_message (bool or the field's name),
                                        ///< documents, enable_thinking, and any variable besides
  std::optional<std::string> chat_template;  ///< a name of the set, or a template's text
  RenderOptions render;
};

/// The templates and special tokens of one checkpoint. Immutable after loading; safe to share.
class ChatTemplateSet {
 public:
  /// Reads what is there of chat_template.jinja, additional_chat_templates/*.jinja,
  /// chat_template.json and tokenizer_config.json (plus special_tokens_map.json). A .jinja file
  /// wins over the .json files. A checkpoint without any template gives an empty set.
  /// Errors: kNotFound: no such directory; kDataLoss: a file is not what it should be;
  /// kInvalidArgument: a template does not parse (names the file and line).
  static Result<ChatTemplateSet> Load(const std::string& model_dir);

  /// A set of given parts, for tests and tools. `named`: "default", "tool_use" …;
  /// `special_tokens`: variables such as "bos_token".
  static Result<ChatTemplateSet> Make(const std::map<std::string, std::string>& named,
                                      const std::map<std::string, std::string>& special_tokens);

  bool empty() const { return templates_.empty(); }

  /// The source of "default" (or of the only template); empty when there is none.
  std::string_view default_source() const;

  const std::map<std::string, std::string>& special_tokens() const { return special_tokens_; }

  /// The prompt of one conversation (array of message objects).
  /// Keys of a message whose value is null are dropped; reasoning_content, thinking and reasoning
  /// fill each other; `tool_use` is taken when tools are given; a message to continue is cut right
  /// behind its text.
  /// Errors: kInvalidArgument: empty or malformed conversation, no template, or what Render says.
  Result<std::string> Apply(const json::Value& messages, const ApplyOptions& options = {}) const;

  /// Several conversations: `batch` is an array of arrays of messages.
  Result<std::vector<std::string>> ApplyBatch(const json::Value& batch,
                                              const ApplyOptions& options = {}) const;

 private:
  Result<ChatTemplate> Choose(const ApplyOptions& options) const;

  std::map<std::string, ChatTemplate> templates_;
  bool has_names_ = false;  ///< several templates, or one under a name: they can be asked for
  std::map<std::string, std::string> special_tokens_;
};

/// Makes messages as clients send them what templates expect: `arguments` of a tool call given as a
/// JSON string become the object (`""`, `"null"` and null become {}; numbers keep their written
/// form), an empty or null `tool_calls` is dropped. Call it before Apply.
/// Errors: kInvalidArgument naming the message's index: arguments are no JSON object.
Result<json::Value> NormalizeMessages(const json::Value& messages);

}  // namespace ft::text
