// Parsers as the core sees them: the table of ft/plugin/parser.h with its state, the formats of
// this process by name, which of them a model speaks, and the chain reasoning parser -> tool parser
// that turns one reply into events. Nothing here knows a format: those are plugins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ft/plugin/parser.h"

#include "core/base/status.h"

namespace ft::text {

class Tokenizer;

enum class ParserKind {
  kReasoning,
  kToolCalls
};

/// "reasoning parser", "tool call parser": for messages.
const char* ParserKindName(ParserKind kind);

/// A text that switches mode, e.g. "<think>". `role` is FT_MARKER_*.
struct ParserMarker {
  std::string text;
  uint32_t role = 0;
};

/// A loaded format. The table and state must outlive it (plugins are never unloaded). Any thread.
class Parser {
 public:
  /// `origin`: the plugin's short name, for messages.
  /// Errors: kPluginFault when the table's own markers cannot be read.
  static Result<Parser> Create(
      ParserKind kind, std::string name, const ft_parser* table, void* state, std::string origin);

  ParserKind kind() const { return kind_; }

  const std::string& name() const { return name_; }

  const std::string& origin() const { return origin_; }

  const std::vector<ParserMarker>& markers() const { return markers_; }

  /// 0: this format is not what the template speaks; higher is surer.
  Result<int32_t> Score(std::string_view chat_template) const;

  /// Does this rendered prompt end inside a thought? Always false for tool call parsers.
  Result<bool> PromptEndsInThought(std::string_view prompt) const;

  const ft_parser* table() const { return table_; }

  void* state() const { return state_; }

 private:
  Parser() = default;
  ParserKind kind_ = ParserKind::kReasoning;
  std::string name_;
  std::string origin_;
  const ft_parser* table_ = nullptr;
  void* state_ = nullptr;
  std::vector<ParserMarker> markers_;
};

/// The formats of one process, by kind and name. Filled at start, then read only.
class ParserRegistry {
 public:
  /// Errors: kInvalidArgument when the name is taken (both origins are named).
  Status Add(Parser parser);

  /// Null when absent. The pointer lives as long as the registry.
  const Parser* Find(ParserKind kind, std::string_view name) const;

  /// In the order they were added.
  std::vector<const Parser*> All(ParserKind kind) const;

 private:
  std::vector<std::unique_ptr<Parser>> all_;
};

/// Id of the added token whose content is exactly this text; empty when there is none.
using MarkerLookup = std::function<std::optional<int32_t>(std::string_view)>;

/// A lookup over `tokenizer`, which must outlive it. Null: no marker is a token.
MarkerLookup LookupIn(const Tokenizer* tokenizer);

/// One parser, resolved: null means that nothing is parsed. `reason` is one line for the log and
/// /v1/config: "auto: the template has <think>, and the tokenizer has a token for it".
struct ParserChoice {
  const Parser* parser = nullptr;
  std::vector<int32_t> marker_token_ids;  ///< in the order of parser->markers(); -1 = no token
  std::string reason;
};

/// Resolves a flag's value: a name, "auto" (the surest format by the template; none when no format
/// fits) or "none". `flag` ("--tool-call-parser") is for messages.
/// Errors: kInvalidArgument for an unknown name, listing those there are.
Result<ParserChoice> ChooseParser(const ParserRegistry& registry,
                                  ParserKind kind,
                                  std::string_view value,
                                  std::string_view flag,
                                  std::string_view chat_template,
                                  const MarkerLookup& lookup);

enum class ParserEventKind {
  kContent,
  kReasoning,
  kToolBegin,  ///< text = the function's name, whole
  kToolArgs,   ///< text = next piece of the JSON arguments
  kToolEnd,    ///< the call is whole
  kWarning     ///< text for the log: a call that could not be read
};

struct ParserEvent {
  ParserEventKind kind = ParserEventKind::kContent;
  uint32_t tool_index = 0;  ///< 0-based, of kTool*
  std::string text;
};

/// What one token added to the text; see TokenOutput in core/engine/engine.h.
struct TextPiece {
  std::string_view text;  ///< whole characters; may be empty
  int32_t token_id = -1;  ///< -1: text without a token
  bool is_added_token = false;
};

/// For one reply. The choices (and their parsers) must outlive the StreamParser.
struct StreamParserOptions {
  const ParserChoice* reasoning = nullptr;  ///< null, or its parser null: no thoughts are split off
  const ParserChoice* tool_calls = nullptr;  ///< null (no tools in the request): calls are text
  bool starts_in_reasoning = false;          ///< Parser::PromptEndsInThought of the prompt
  std::string_view tools_json;               ///< the request's `tools` array as JSON, or empty
};

/// Splits one reply while it streams. The events, joined by kind and call, do not depend on how the
/// text was cut. A call is reported once it is whole: name, arguments, end; a cut or unreadable
/// call never. One thread at a time; movable.
class StreamParser {
 public:
  /// Errors: kPluginFault, with the parser's own words.
  static Result<StreamParser> Create(const StreamParserOptions& options);

  ~StreamParser();
  StreamParser(const StreamParser&) = delete;
  StreamParser& operator=(const StreamParser&) = delete;
  StreamParser(StreamParser&&) noexcept;
  StreamParser& operator=(StreamParser&&) noexcept;

  /// Appends what `piece` made certain. Neighbouring events of one kind are merged.
  /// Errors: kPluginFault; the reply is then over.
  Status Feed(const TextPiece& piece, std::vector<ParserEvent>* events);

  /// The reply is over: what was held back comes out. May be called again, to no effect.
  Status Finish(std::vector<ParserEvent>* events);

  /// Is the reply inside a thought now? (Masks start behind it.)
  bool in_reasoning() const;

  /// Calls reported whole so far.
  uint32_t num_tool_calls() const;

 private:
  class Impl;
  explicit StreamParser(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ParsedToolCall {
  std::string name;
  std::string arguments;  ///< JSON text of an object
};

struct ParsedReply {
  std::string reasoning;
  std::string content;
  std::vector<ParsedToolCall> tool_calls;
  std::vector<std::string> warnings;
};

/// Adds events to a reply: what a client that does not stream gets.
void CollectEvents(const std::vector<ParserEvent>& events, ParsedReply* reply);

/// A whole reply at once, through StreamParser.
Result<ParsedReply> ParseReply(const StreamParserOptions& options,
                               const std::vector<TextPiece>& pieces);

}  // namespace ft::text
