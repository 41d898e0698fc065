// ModelText: a checkpoint's tokenizer, chat template and parsers as the server's TextServices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/server/text_services.h"
#include "core/text/chat_template.h"
#include "core/text/parsers.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::app {

struct ModelTextOptions {
  std::string dir;
  std::string reasoning_parser = "auto";  ///< a name, auto or none
  std::string tool_call_parser = "auto";
};

/// Immutable after Load: any thread may call any function.
class ModelText : public server::TextServices {
 public:
  /// `parsers` must outlive it. `vocab_size`: rows of the model's logits.
  /// Errors: those of Tokenizer::Load, ChatTemplateSet::Load and ChooseParser.
  static Result<std::unique_ptr<ModelText>> Load(const ModelTextOptions& options,
                                                 const text::ParserRegistry& parsers,
                                                 int64_t vocab_size);

  Result<std::string> RenderChat(const server::ChatPrompt& prompt) const override;
  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      bool add_special_tokens) const override;
  std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const override;
  std::string TokenBytes(int32_t id) const override;

  int32_t vocab_size() const override { return vocab_size_; }

  Result<server::NewReplyParser> MakeReplyParser(
      const server::ReplyParserOptions& options) const override;

  const text::Tokenizer& tokenizer() const { return *tokenizer_; }

  const text::ParserChoice& reasoning() const { return reasoning_; }

  const text::ParserChoice& tool_calls() const { return tool_calls_; }

  bool has_template() const { return !templates_.empty(); }

  /// Ids of the tokenizer's end-of-turn token, for the stop ids.
  std::vector<int64_t> EosIds() const;

 private:
  explicit ModelText(text::ChatTemplateSet templates) : templates_(std::move(templates)) {}

  std::unique_ptr<text::Tokenizer> tokenizer_;
  text::ChatTemplateSet templates_;
  text::ParserChoice reasoning_;
  text::ParserChoice tool_calls_;
  int32_t vocab_size_ = 0;
};

}  // namespace ft::app
