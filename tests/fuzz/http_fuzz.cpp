// Fuzzes what the server does with requests, without sockets: paths, access headers, and bodies of
// every endpoint through checks, rendering stand-ins and the replies. What is accepted must be
// answered with valid JSON; what is refused, with a 4xx in OpenAI's form.
// links: server
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/json/write.h"
#include "core/server/api/prepare.h"
#include "core/server/api/routes.h"
#include "core/server/http/access.h"
#include "core/server/http/exchange.h"

namespace ft::server {
namespace {

// Tokens are bytes; every reply is the prompt.
class FuzzParser : public ReplyParser {
 public:
  Status Push(const TokenOutput& token, std::vector<ReplyEvent>* events) override {
    // Every kind of event in any order, as a hostile plugin might send them.
    const auto kind = static_cast<ReplyEvent::Kind>(token.token_id % 5);
    events->push_back({kind, static_cast<uint32_t>(token.token_id), token.text});
    return token.token_id == 250 ? Internal("the parser gave up") : Status();
  }

  Status Finish(std::vector<ReplyEvent>* /*events*/) override { return Status(); }

  bool in_reasoning() const override { return false; }
};

class FuzzText : public TextServices {
 public:
  Result<std::string> RenderChat(const ChatPrompt& prompt) const override {
    return json::Write(prompt.messages) + json::Write(prompt.tools) + json::Write(prompt.kwargs);
  }

  Result<std::vector<int32_t>> Encode(std::string_view text, bool /*special*/) const override {
    return std::vector<int32_t>(text.begin(), text.end());
  }

  std::string Decode(std::span<const int32_t> ids, bool /*skip*/) const override {
    return std::string(ids.begin(), ids.end());
  }

  std::string TokenBytes(int32_t id) const override {
    return std::string(1, static_cast<char>(id));
  }

  int32_t vocab_size() const override { return 256; }

  Result<NewReplyParser> MakeReplyParser(const ReplyParserOptions& /*options*/) const override {
    return NewReplyParser{std::make_unique<FuzzParser>(), false};
  }
};

class FuzzEngine : public Engine {
 public:
  EngineInfo info() const override {
    EngineInfo info;
    info.max_model_len = 4096;
    info.max_output_tokens = 4096;
    return info;
  }

  EngineStats stats() const override { return {}; }

  Result<RequestId> Submit(Request /*request*/) override { return RequestId{1}; }

  void Cancel(RequestId /*request*/) override {}

  void Drain() override {}
};

void Require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void CheckError(const ApiError& error) {
  Require(error.http_status >= 400 && error.http_status < 600 && !error.message.empty());
  const auto parsed = json::Parse(ErrorBody(error));
  Require(parsed.ok() && parsed.value().Find("error") != nullptr);
}

void CheckResponse(const HttpResponse& response) {
  Require(json::Parse(response.body).ok());
}

void CheckEvents(std::string_view sse) {
  while (!sse.empty()) {
    const size_t end = sse.find("\n\n");
    Require(end != std::string_view::npos && sse.starts_with("data: "));
    const std::string_view data = sse.substr(6, end - 6);
    Require(data == "[DONE]" || json::Parse(data).ok());
    sse.remove_prefix(end + 2);
  }
}

void Play(Generation* generation) {
  std::string sse;
  const std::vector<Request> requests = std::move(generation->requests);
  bool failed = false;
  for (size_t choice = 0; choice < requests.size() && !failed; ++choice) {
    RequestOutput output;
    for (const int32_t id : requests[choice].prompt_ids) {
      TokenOutput token;
      token.token_id = id & 0xff;
      token.text = std::string(1, static_cast<char>(id));
      token.top = {{id & 0xff, -1.0}, {7, -2.0}};
      output.tokens.push_back(token);
    }
    output.finish = choice % 2 == 0 ? FinishReason::kStop : FinishReason::kLength;
    if (auto error = generation->OnOutput(choice, output, &sse)) {
      CheckError(*error);
      sse += generation->stream ? ErrorEvent(*error) : "";
      failed = true;
    }
  }
  if (generation->stream) {
    CheckEvents(sse + (failed ? "" : generation->End()));
  } else if (!failed) {
    CheckResponse(generation->Whole());
  }
}

void CheckPrepared(ApiResult<std::unique_ptr<Generation>> prepared) {
  if (prepared.has_value()) {
    Play(prepared->get());
  } else {
    CheckError(prepared.error());
    Require(prepared.error().http_status < 500);
  }
}

void CheckHead(std::string_view text) {
  if (const auto path = PercentDecode(text)) {
    for (const char* method : {"GET", "POST"}) {
      const ApiResult<Route> route = FindRoute(method, *path);
      if (!route.has_value()) {
        CheckError(route.error());
      }
    }
  }
  ServerOptions options;
  options.api_key = "key";
  options.cors_origins = {"https://a.example"};
  const size_t half = text.size() / 2;
  const AccessHeaders headers = {text.substr(0, half), text.substr(half), text, text};
  if (const auto error = CheckAccess(options, headers, true)) {
    CheckError(*error);
  } else {
    Require(text == "key" || text.size() > 7);
  }
  Require(RequestIdOf(text).find_first_of("\r\n") == std::string::npos);
}

}  // namespace
}  // namespace ft::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ft::server;  // NOLINT(google-build-using-namespace): one small function
  if (size == 0) {
    return 0;
  }
  static FuzzEngine engine;
  static const FuzzText text;
  static ServerOptions options;
  options.served_model_name = "m";
  static ServedModel model;
  model.engine = &engine;
  model.text = &text;
  const PrepareContext context{options, model};
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      CheckPrepared(PrepareChat(context, body));
      break;
    case 1:
      CheckPrepared(PrepareCompletion(context, body));
      break;
    case 2:
      CheckResponse(Tokenize(context, body));
      break;
    case 3:
      CheckResponse(Detokenize(context, body));
      break;
    default:
      CheckHead(body);
  }
  return 0;
}
