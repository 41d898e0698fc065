#include "core/app/model_text.h"

#include <utility>

#include "core/base/errors.h"
#include "core/json/write.h"

namespace ft::app {
namespace {

server::ReplyEvent::Kind KindOf(text::ParserEventKind kind) {
  using From = text::ParserEventKind;
  using To = server::ReplyEvent::Kind;
  switch (kind) {
    case From::kContent:
    case From::kWarning:
      return To::kContent;
    case From::kReasoning:
      return To::kReasoning;
    case From::kToolBegin:
      return To::kToolBegin;
    case From::kToolArgs:
      return To::kToolArgs;
    case From::kToolEnd:
      return To::kToolEnd;
  }
  return To::kContent;
}

// One reply through the parser plugins.
class PluginReplyParser : public server::ReplyParser {
 public:
  explicit PluginReplyParser(text::StreamParser parser) : parser_(std::move(parser)) {}

  Status Push(const TokenOutput& token, std::vector<server::ReplyEvent>* events) override {
    scratch_.clear();
    const text::TextPiece piece = {
        .text = token.text, .token_id = token.token_id, .is_added_token = token.is_added_token};
    FT_RETURN_IF_ERROR(parser_.Feed(piece, &scratch_));
    Move(events);
    return Status();
  }

  Status Finish(std::vector<server::ReplyEvent>* events) override {
    scratch_.clear();
    FT_RETURN_IF_ERROR(parser_.Finish(&scratch_));
    Move(events);
    return Status();
  }

  bool in_reasoning() const override { return parser_.in_reasoning(); }

 private:
  void Move(std::vector<server::ReplyEvent>* events) {
    for (text::ParserEvent& event : scratch_) {
      if (event.kind != text::ParserEventKind::kWarning) {
        events->push_back({KindOf(event.kind), event.tool_index, std::move(event.text)});
      }
    }
  }

  text::StreamParser parser_;
  std::vector<text::ParserEvent> scratch_;
};

}  // namespace

Result<std::unique_ptr<ModelText>> ModelText::Load(const ModelTextOptions& options,
                                                   const text::ParserRegistry& parsers,
                                                   int64_t vocab_size) {
  FT_ASSIGN_OR_RETURN(text::ChatTemplateSet templates, text::ChatTemplateSet::Load(options.dir));
  std::unique_ptr<ModelText> made(new ModelText(std::move(templates)));
  FT_ASSIGN_OR_RETURN(made->tokenizer_, text::Tokenizer::Load(options.dir));
  made->vocab_size_ = static_cast<int32_t>(vocab_size);
  const text::MarkerLookup lookup = text::LookupIn(made->tokenizer_.get());
  const std::string_view source = made->templates_.default_source();
  FT_ASSIGN_OR_RETURN(made->reasoning_, text::ChooseParser(parsers, text::ParserKind::kReasoning,
                                                           options.reasoning_parser,
                                                           "--reasoning-parser", source, lookup));
  FT_ASSIGN_OR_RETURN(made->tool_calls_, text::ChooseParser(parsers, text::ParserKind::kToolCalls,
                                                            options.tool_call_parser,
                                                            "--tool-call-parser", source, lookup));
  return made;
}

Result<std::string> ModelText::RenderChat(const server::ChatPrompt& prompt) const {
  if (templates_.empty()) {
    return FailedPrecondition(
        "this model has no chat template; use /v1/completions, or put a chat_template.jinja beside "
        "it");
  }
  FT_ASSIGN_OR_RETURN(const json::Value messages, text::NormalizeMessages(prompt.messages));
  json::Value kwargs = prompt.kwargs.is_object() ? prompt.kwargs : json::Value::MakeObject();
  kwargs.Set("add_generation_prompt", json::Value(prompt.add_generation_prompt));
  text::ApplyOptions options;
  options.tools = &prompt.tools;
  options.kwargs = &kwargs;
  return templates_.Apply(messages, options);
}

Result<std::vector<int32_t>> ModelText::Encode(std::string_view text,
                                               bool add_special_tokens) const {
  return tokenizer_->Encode(text, {.add_special_tokens = add_special_tokens});
}

std::string ModelText::Decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  return tokenizer_->Decode(ids, {.skip_special_tokens = skip_special_tokens});
}

std::string ModelText::TokenBytes(int32_t id) const {
  return tokenizer_->TokenBytes(id);
}

Result<server::NewReplyParser> ModelText::MakeReplyParser(
    const server::ReplyParserOptions& options) const {
  server::NewReplyParser result;
  if (reasoning_.parser != nullptr) {
    FT_ASSIGN_OR_RETURN(result.starts_in_reasoning,
                        reasoning_.parser->PromptEndsInThought(options.rendered_prompt));
  }
  const std::string tools = options.tools == nullptr ? std::string() : json::Write(*options.tools);
  text::StreamParserOptions parser_options;
  parser_options.reasoning = &reasoning_;
  parser_options.tool_calls = options.tools == nullptr ? nullptr : &tool_calls_;
  parser_options.starts_in_reasoning = result.starts_in_reasoning;
  parser_options.tools_json = tools;
  FT_ASSIGN_OR_RETURN(text::StreamParser parser, text::StreamParser::Create(parser_options));
  result.parser = std::make_unique<PluginReplyParser>(std::move(parser));
  return result;
}

std::vector<int64_t> ModelText::EosIds() const {
  std::vector<int64_t> ids;
  const std::optional<text::NamedToken>& eos = tokenizer_->config().eos_token;
  if (eos.has_value() && eos->id.has_value()) {
    ids.push_back(*eos->id);
  }
  return ids;
}

}  // namespace ft::app
