#include "core/text/parsers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/parser_call.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::text {
namespace {

constexpr uint32_t kMaxMarkers = 32;
constexpr uint64_t kMaxMarkerBytes = 256;

// "<think> is a token, </think> is text"
std::string DescribeMarkers(const Parser& parser, const std::vector<int32_t>& ids) {
  std::string tokens;
  std::string letters;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string& list = ids[i] >= 0 ? tokens : letters;
    list += (list.empty() ? "" : " ") + parser.markers()[i].text;
  }
  if (ids.empty()) {
    return "no markers";
  }
  return fmt::format("{}{}{}", tokens.empty() ? "" : tokens + " as tokens",
                     tokens.empty() || letters.empty() ? "" : ", ",
                     letters.empty() ? "" : letters + " as letters");
}

ParserChoice Chosen(const Parser* parser, const MarkerLookup& lookup, std::string_view why) {
  ParserChoice choice;
  choice.parser = parser;
  for (const ParserMarker& marker : parser->markers()) {
    choice.marker_token_ids.push_back(lookup ? lookup(marker.text).value_or(-1) : -1);
  }
  choice.reason = fmt::format("{} ({}; {})", parser->name(), why,
                              DescribeMarkers(*parser, choice.marker_token_ids));
  return choice;
}

Result<ParserChoice> ChooseByTemplate(const ParserRegistry& registry,
                                      ParserKind kind,
                                      std::string_view chat_template,
                                      const MarkerLookup& lookup) {
  const Parser* best = nullptr;
  int32_t best_score = 0;
  for (const Parser* parser : registry.All(kind)) {
    FT_ASSIGN_OR_RETURN(const int32_t score, parser->Score(chat_template));
    if (score > best_score) {
      best = parser;
      best_score = score;
    }
  }
  if (best != nullptr) {
    return Chosen(best, lookup, "auto: the chat template speaks it");
  }
  ParserChoice none;
  none.reason = fmt::format("none (auto: {})", chat_template.empty()
                                                   ? "there is no chat template"
                                                   : "no format there is fits the chat template");
  return none;
}

}  // namespace

const char* ParserKindName(ParserKind kind) {
  switch (kind) {
    case ParserKind::kReasoning:
      return "reasoning parser";
    case ParserKind::kToolCalls:
      return "tool call parser";
  }
  return "?";
}

Result<Parser> Parser::Create(
    ParserKind kind, std::string name, const ft_parser* table, void* state, std::string origin) {
  Parser parser;
  parser.kind_ = kind;
  parser.name_ = std::move(name);
  parser.origin_ = std::move(origin);
  parser.table_ = table;
  parser.state_ = state;
  for (uint32_t i = 0;; ++i) {
    ft_marker marker = {};
    ft_error error = NewParserError();
    const ft_code code = table->marker(state, i, &marker, &error);
    if (code == FT_E_NOT_FOUND) {
      return parser;
    }
    if (code != FT_OK) {
      return ParserFault(parser, "marker", code, error);
    }
    if (i == kMaxMarkers || marker.text.ptr == nullptr || marker.text.len == 0 ||
        marker.text.len > kMaxMarkerBytes) {
      return PluginFault("{} {} ({}): its marker {} is no text, or there is no end of them",
                         ParserKindName(kind), parser.name_, parser.origin_, i);
    }
    parser.markers_.push_back({std::string(marker.text.ptr, marker.text.len), marker.role});
  }
}

Result<int32_t> Parser::Score(std::string_view chat_template) const {
  int32_t score = 0;
  ft_error error = NewParserError();
  const ft_code code =
      table_->matches(state_, {chat_template.data(), chat_template.size()}, &score, &error);
  if (code != FT_OK) {
    return ParserFault(*this, "matches", code, error);
  }
  return score;
}

Result<bool> Parser::PromptEndsInThought(std::string_view prompt) const {
  if (kind_ != ParserKind::kReasoning) {
    return false;
  }
  uint32_t in_reasoning = 0;
  ft_error error = NewParserError();
  const ft_code code =
      table_->prompt_state(state_, {prompt.data(), prompt.size()}, &in_reasoning, &error);
  if (code != FT_OK) {
    return ParserFault(*this, "prompt_state", code, error);
  }
  return in_reasoning != 0;
}

Status ParserRegistry::Add(Parser parser) {
  if (const Parser* other = Find(parser.kind(), parser.name())) {
    return InvalidArgument("{} '{}' comes from both {} and {}: leave one out",
                           ParserKindName(parser.kind()), parser.name(), other->origin(),
                           parser.origin());
  }
  all_.push_back(std::make_unique<Parser>(std::move(parser)));
  return Status();
}

const Parser* ParserRegistry::Find(ParserKind kind, std::string_view name) const {
  for (const std::unique_ptr<Parser>& parser : all_) {
    if (parser->kind() == kind && parser->name() == name) {
      return parser.get();
    }
  }
  return nullptr;
}

std::vector<const Parser*> ParserRegistry::All(ParserKind kind) const {
  std::vector<const Parser*> parsers;
  for (const std::unique_ptr<Parser>& parser : all_) {
    if (parser->kind() == kind) {
      parsers.push_back(parser.get());
    }
  }
  return parsers;
}

MarkerLookup LookupIn(const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) {
    return [](std::string_view) { return std::optional<int32_t>(); };
  }
  return [tokenizer](std::string_view text) {
    const std::optional<int32_t> id = tokenizer->TokenId(text);
    return id.has_value() && tokenizer->is_added(*id) ? id : std::nullopt;
  };
}

Result<ParserChoice> ChooseParser(const ParserRegistry& registry,
                                  ParserKind kind,
                                  std::string_view value,
                                  std::string_view flag,
                                  std::string_view chat_template,
                                  const MarkerLookup& lookup) {
  if (value == "none") {
    ParserChoice none;
    none.reason = fmt::format("none ({} none)", flag);
    return none;
  }
  if (value == "auto" || value.empty()) {
    return ChooseByTemplate(registry, kind, chat_template, lookup);
  }
  if (const Parser* parser = registry.Find(kind, value)) {
    return Chosen(parser, lookup, fmt::format("{} {}", flag, value));
  }
  std::string names = "auto, none";
  for (const Parser* parser : registry.All(kind)) {
    names += ", " + parser->name();
  }
  return NotFound("{} {}: there is no such {}; there are {}", flag, value, ParserKindName(kind),
                  names);
}

ft_error NewParserError() {
  ft_error error = {};
  error.hdr = {sizeof(ft_error), FT_TAG_ERROR, nullptr};
  return error;
}

Status ParserFault(const Parser& parser,
                   std::string_view function,
                   ft_code code,
                   const ft_error& error) {
  const std::string words =
      ReplaceInvalidUtf8({error.message, strnlen(error.message, sizeof(error.message))});
  return PluginFault("{} {} ({}): {} failed with code {}: {}", ParserKindName(parser.kind()),
                     parser.name(), parser.origin(), function, code,
                     words.empty() ? "no reason given" : words);
}

}  // namespace ft::text
