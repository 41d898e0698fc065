#include "core/server/api/prepare.h"

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "core/json/write.h"
#include "core/server/api/chat_generation.h"
#include "core/server/api/chat_request.h"
#include "core/server/api/completion_generation.h"
#include "core/server/api/completion_request.h"

namespace ft::server {
namespace {

RequestDefaults DefaultsOf(const PrepareContext& context) {
  RequestDefaults defaults;
  defaults.served_model_name = context.options.served_model_name;
  defaults.sampling = context.model.default_sampling;
  defaults.engine = context.model.engine->info();
  defaults.vocab_size = context.model.text->vocab_size();
  defaults.max_choices = context.options.limits.max_choices;
  return defaults;
}

ApiResult<json::Value> Parse(const PrepareContext& context, std::string_view body) {
  const ServerLimits& limits = context.options.limits;
  return ParseBody(body, limits.max_body_bytes, limits.max_json_depth);
}

tl::unexpected<ApiError> Unexpected(const Status& status, std::string param) {
  ApiError error = FromStatus(status);
  if (error.http_status == 400) {
    error.param = std::move(param);
  }
  return tl::unexpected(std::move(error));
}

ReplyHead MakeHead(const PrepareContext& context, std::string_view id_prefix) {
  return {RandomId(id_prefix), std::time(nullptr), context.options.served_model_name};
}

// `n` copies of a request. A given seed makes them differ, and repeat as a whole.
void AddChoices(Request request, int n, std::vector<Request>* requests) {
  for (int i = 0; i < n; ++i) {
    // Moved from last.  NOLINTNEXTLINE(bugprone-use-after-move)
    Request one = i + 1 == n ? std::move(request) : request;
    if (one.sampling.seed.has_value()) {
      *one.sampling.seed += static_cast<uint64_t>(i);
    }
    requests->push_back(std::move(one));
  }
}

ApiResult<std::vector<NewReplyParser>> MakeParsers(const PrepareContext& context,
                                                   const ChatRequest& chat,
                                                   std::string_view rendered) {
  ReplyParserOptions options;
  options.rendered_prompt = rendered;
  options.tools = chat.use_tools ? &chat.prompt.tools : nullptr;
  std::vector<NewReplyParser> parsers;
  for (int i = 0; i < chat.common.n; ++i) {
    Result<NewReplyParser> parser = context.model.text->MakeReplyParser(options);
    if (!parser.ok()) {
      return Unexpected(parser.status(), "messages");
    }
    if (chat.wants_no_thinking && parser.value().starts_in_reasoning) {
      return tl::unexpected(BadRequest("unsupported_parameter", "reasoning_effort",
                                       "thinking cannot be turned off: this model's chat template "
                                       "opens a thought whatever its switches say"));
    }
    parsers.push_back(std::move(parser).value());
  }
  return parsers;
}

std::string TokensJson(const std::vector<int32_t>& ids) {
  return fmt::format("[{}]", fmt::join(ids, ","));
}

std::string TokenStringsJson(const std::vector<int32_t>& ids, const TextServices& text) {
  std::string out = "[";
  for (const int32_t id : ids) {
    out += out.size() == 1 ? "" : ",";
    json::AppendQuoted(text.TokenBytes(id), &out);
  }
  return out + "]";
}

// The text whose tokens /tokenize wants: a prompt, or a rendered conversation.
ApiResult<std::string> TextToTokenize(const PrepareContext& context, FieldReader* reader) {
  if (!reader->Has("messages")) {
    const std::string* prompt = reader->String("prompt");
    if (prompt == nullptr) {
      reader->Fail("prompt", "missing_required_parameter", "send prompt (a string) or messages");
    }
    if (auto error = reader->Finish()) {
      return tl::unexpected(std::move(*error));
    }
    return *prompt;
  }
  ChatRequest chat;
  ReadChatPrompt(reader, context.model.default_template_kwargs, &chat);
  chat.prompt.add_generation_prompt = reader->Bool("add_generation_prompt").value_or(true);
  if (auto error = reader->Finish()) {
    return tl::unexpected(std::move(*error));
  }
  Result<std::string> rendered = context.model.text->RenderChat(chat.prompt);
  if (!rendered.ok()) {
    return Unexpected(rendered.status(), "messages");
  }
  return std::move(rendered).value();
}

}  // namespace

ApiResult<std::unique_ptr<Generation>> PrepareChat(const PrepareContext& context,
                                                   std::string_view body) {
  ApiResult<json::Value> parsed = Parse(context, body);
  if (!parsed.has_value()) {
    return tl::unexpected(std::move(parsed.error()));
  }
  const RequestDefaults defaults = DefaultsOf(context);
  ApiResult<ChatRequest> chat =
      ReadChatRequest(*parsed, defaults, context.model.default_template_kwargs);
  if (!chat.has_value()) {
    return tl::unexpected(std::move(chat.error()));
  }
  const TextServices& text = *context.model.text;
  Result<std::string> rendered = text.RenderChat(chat->prompt);
  if (!rendered.ok()) {
    return Unexpected(rendered.status(), "messages");
  }
  // The template writes the special tokens it wants.
  Result<std::vector<int32_t>> ids = text.Encode(rendered.value(), /*add_special_tokens=*/false);
  if (!ids.ok()) {
    return Unexpected(ids.status(), "messages");
  }
  ApiResult<Request> request = MakeRequest(std::move(ids).value(), chat->common, defaults.engine);
  if (!request.has_value()) {
    return tl::unexpected(std::move(request.error()));
  }
  ApiResult<std::vector<NewReplyParser>> parsers = MakeParsers(context, *chat, rendered.value());
  if (!parsers.has_value()) {
    return tl::unexpected(std::move(parsers.error()));
  }
  ChatGenerationOptions options;
  options.head = MakeHead(context, "chatcmpl-");
  options.stream = chat->common.stream;
  options.include_usage = chat->common.include_usage;
  options.want_logprobs = chat->common.sampling.num_logprobs >= 0;
  std::unique_ptr<Generation> generation =
      MakeChatGeneration(std::move(options), std::move(*parsers), &text);
  AddChoices(std::move(*request), chat->common.n, &generation->requests);
  return generation;
}

ApiResult<std::unique_ptr<Generation>> PrepareCompletion(const PrepareContext& context,
                                                         std::string_view body) {
  ApiResult<json::Value> parsed = Parse(context, body);
  if (!parsed.has_value()) {
    return tl::unexpected(std::move(parsed.error()));
  }
  const RequestDefaults defaults = DefaultsOf(context);
  ApiResult<CompletionRequest> completion = ReadCompletionRequest(*parsed, defaults);
  if (!completion.has_value()) {
    return tl::unexpected(std::move(completion.error()));
  }
  const TextServices& text = *context.model.text;
  std::vector<Request> requests;
  for (auto& prompt : completion->prompts) {
    PromptIds ids;
    if (auto* given = std::get_if<PromptIds>(&prompt)) {
      ids = std::move(*given);
    } else {
      Result<std::vector<int32_t>> encoded =
          text.Encode(std::get<PromptText>(prompt), /*add_special_tokens=*/true);
      if (!encoded.ok()) {
        return Unexpected(encoded.status(), "prompt");
      }
      ids = std::move(encoded).value();
    }
    ApiResult<Request> request = MakeRequest(std::move(ids), completion->common, defaults.engine);
    if (!request.has_value()) {
      return tl::unexpected(std::move(request.error()));
    }
    AddChoices(std::move(*request), completion->common.n, &requests);
  }
  CompletionGenerationOptions options;
  options.head = MakeHead(context, "cmpl-");
  options.stream = completion->common.stream;
  options.include_usage = completion->common.include_usage;
  options.want_logprobs = completion->common.sampling.num_logprobs >= 0;
  options.num_choices = requests.size();
  options.choices_per_prompt = static_cast<size_t>(completion->common.n);
  std::unique_ptr<Generation> generation = MakeCompletionGeneration(std::move(options), &text);
  generation->requests = std::move(requests);
  return generation;
}

HttpResponse Tokenize(const PrepareContext& context, std::string_view body) {
  ApiResult<json::Value> parsed = Parse(context, body);
  if (!parsed.has_value()) {
    return ErrorResponse(parsed.error());
  }
  FieldReader reader(*parsed, "");
  ReadModelField(&reader, context.options.served_model_name);
  const bool is_chat = reader.Has("messages");
  // A rendered conversation has its special tokens already.
  const bool add_special = reader.Bool("add_special_tokens").value_or(!is_chat);
  const bool want_strings = reader.Bool("return_token_strs").value_or(false);
  ApiResult<std::string> text = TextToTokenize(context, &reader);
  if (!text.has_value()) {
    return ErrorResponse(text.error());
  }
  Result<std::vector<int32_t>> ids = context.model.text->Encode(*text, add_special);
  if (!ids.ok()) {
    return ErrorResponse(FromStatus(ids.status()));
  }
  HttpResponse response;
  response.body = fmt::format(
      "{{\"count\":{},\"max_model_len\":{},\"tokens\":{},\"token_strs\":{}}}", ids.value().size(),
      context.model.engine->info().max_model_len, TokensJson(ids.value()),
      want_strings ? TokenStringsJson(ids.value(), *context.model.text) : "null");
  return response;
}

HttpResponse Detokenize(const PrepareContext& context, std::string_view body) {
  ApiResult<json::Value> parsed = Parse(context, body);
  if (!parsed.has_value()) {
    return ErrorResponse(parsed.error());
  }
  FieldReader reader(*parsed, "");
  ReadModelField(&reader, context.options.served_model_name);
  const json::Value* tokens = reader.Array("tokens");
  std::vector<int32_t> ids;
  if (tokens == nullptr) {
    reader.Fail("tokens", "missing_required_parameter",
                "tokens is missing; send an array of token ids");
  } else {
    ApiError error;
    if (auto read = ReadTokenIds(*tokens, "tokens", context.model.text->vocab_size(), &error)) {
      ids = std::move(*read);
    } else {
      reader.Fail(std::move(error));
    }
  }
  if (auto error = reader.Finish()) {
    return ErrorResponse(*error);
  }
  HttpResponse response;
  response.body = "{\"prompt\":";
  json::AppendQuoted(context.model.text->Decode(ids, /*skip_special_tokens=*/false),
                     &response.body);
  response.body += "}";
  return response;
}

}  // namespace ft::server
