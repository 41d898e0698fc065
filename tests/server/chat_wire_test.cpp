// /v1/chat/completions end to end over a socket: messages, streams, tool calls, thoughts, usage.
#include <map>
#include <set>

#include "tests/server/server_fixture.h"

namespace ft::server {
namespace {

// What a client that joins a stream's deltas ends up with.
struct Joined {
  std::string content, reasoning, finish;
  std::vector<std::pair<std::string, std::string>> calls;
  std::set<std::string> call_ids;
  size_t num_logprobs = 0;
  int num_finishes = 0;
  bool finish_was_last = false;
  json::Value usage;
};

std::map<int64_t, Joined> JoinDeltas(const std::vector<json::Value>& chunks) {
  std::map<int64_t, Joined> joined;
  for (const json::Value& chunk : chunks) {
    if (At(chunk, "choices").as_array().empty()) {
      joined[0].usage = At(chunk, "usage");
      continue;
    }
    Joined& one = joined[*At(chunk, "choices.0.index").ToInt64()];
    const json::Value delta = At(chunk, "choices.0.delta");
    const auto text = [&](const char* key) {
      const json::Value value = At(delta, key);
      return value.is_string() ? value.as_string() : std::string();
    };
    one.content += text("content");
    one.reasoning += text("reasoning_content");
    EXPECT_EQ(text("reasoning_content"), text("reasoning"));
    if (const json::Value* calls = delta.Find("tool_calls")) {
      EXPECT_EQ(*At(*calls, "0.index").ToInt64(), static_cast<int64_t>(one.calls.size()));
      one.calls.emplace_back(At(*calls, "0.function.name").as_string(),
                             At(*calls, "0.function.arguments").as_string());
      one.call_ids.insert(At(*calls, "0.id").as_string());
    }
    const json::Value logprobs = At(chunk, "choices.0.logprobs.content");
    one.num_logprobs += logprobs.is_array() ? logprobs.as_array().size() : 0;
    const json::Value finish = At(chunk, "choices.0.finish_reason");
    EXPECT_NE(At(chunk, "choices.0").Find("finish_reason"), nullptr) << "must be there, and null";
    one.finish_was_last = !finish.is_null();
    if (!finish.is_null()) {
      one.finish = finish.as_string();
      ++one.num_finishes;
    }
  }
  return joined;
}

TEST_F(ServerTest, AnswersAChat) {
  Start();
  const ClientResponse response = Chat("hi script:hello");
  ASSERT_EQ(response.status, 200) << response.body;
  const json::Value reply = Json(response);
  EXPECT_EQ(Text(reply, "object"), "chat.completion");
  EXPECT_EQ(Text(reply, "model"), "scripted");
  EXPECT_TRUE(Text(reply, "id").starts_with("chatcmpl-"));
  EXPECT_EQ(Text(reply, "choices.0.message.role"), "assistant");
  EXPECT_EQ(Text(reply, "choices.0.message.content"), "Hello, world!");
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "stop");
  EXPECT_EQ(Int(reply, "usage.prompt_tokens"), 32);  // "[user]hi script:hello[assistant]"
  EXPECT_EQ(Int(reply, "usage.completion_tokens"), 14);
  EXPECT_EQ(Int(reply, "usage.total_tokens"), 46);
  EXPECT_EQ(response.headers.at("connection"), "keep-alive");
  EXPECT_TRUE(response.headers.at("x-request-id").starts_with("req_"));
}

// Every script, streamed and not, gives the same text, calls, finish reason and usage.
class BothModesTest : public ServerTest,
                      public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(BothModesTest, StreamingEqualsNotStreaming) {
  Start();
  const auto [script, fields] = GetParam();
  const std::string content = std::string("script:") + script;
  const std::string all_fields = std::string(fields) + ",\"max_tokens\":90,\"logprobs\":true";
  const ClientResponse whole = Chat(content, all_fields);
  const ClientResponse streamed =
      Chat(content, all_fields + ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
  ASSERT_EQ(whole.status, 200) << whole.body;
  ASSERT_EQ(streamed.status, 200) << streamed.body;
  EXPECT_EQ(streamed.headers.at("content-type"), "text/event-stream; charset=utf-8");
  const json::Value reply = Json(whole);
  const std::vector<json::Value> chunks = ChunksOf(streamed.body);
  std::map<int64_t, Joined> joined = JoinDeltas(chunks);
  ASSERT_EQ(joined.size(), 1u);
  const Joined& stream = joined[0];

  EXPECT_EQ(Text(chunks.front(), "choices.0.delta.role"), "assistant");
  EXPECT_EQ(Text(chunks.front(), "object"), "chat.completion.chunk");
  const json::Value message = At(reply, "choices.0.message");
  EXPECT_EQ(stream.content, At(message, "content").is_null() ? "" : Text(message, "content"));
  EXPECT_EQ(stream.reasoning,
            message.Find("reasoning") == nullptr ? "" : Text(message, "reasoning"));
  EXPECT_EQ(stream.finish, Text(reply, "choices.0.finish_reason"));
  EXPECT_EQ(stream.num_finishes, 1);
  EXPECT_TRUE(stream.finish_was_last);
  EXPECT_EQ(json::Write(stream.usage), json::Write(At(reply, "usage")));
  EXPECT_EQ(stream.num_logprobs, At(reply, "choices.0.logprobs.content").as_array().size());
  const json::Value calls = At(message, "tool_calls");
  ASSERT_EQ(stream.calls.size(), calls.is_array() ? calls.as_array().size() : 0);
  for (size_t i = 0; i < stream.calls.size(); ++i) {
    EXPECT_EQ(stream.calls[i].first, Text(calls.as_array()[i], "function.name"));
    EXPECT_EQ(stream.calls[i].second, Text(calls.as_array()[i], "function.arguments"));
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts,
                         BothModesTest,
                         ::testing::Values(std::pair("hello", ""),
                                           std::pair("think", ""),
                                           std::pair("think", R"(,"reasoning_effort":"high")"),
                                           std::pair("tool", ""),
                                           std::pair("tool", kToolsField.data()),
                                           std::pair("tools", kToolsField.data()),
                                           std::pair("cut", kToolsField.data()),
                                           std::pair("emoji", ""),
                                           std::pair("long", "")));

TEST_F(ServerTest, C09_SaysToolCallsLengthOrStopOncePerChoice) {
  Start();
  const std::string tools(kToolsField);
  json::Value reply = Json(Chat("script:tool", tools));
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "tool_calls");
  EXPECT_TRUE(At(reply, "choices.0.message.content").is_null());
  EXPECT_EQ(Text(reply, "choices.0.message.tool_calls.0.function.arguments"),
            R"({"city":"Paris","n":2})");
  reply = Json(Chat("script:tools", tools));
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "tool_calls");
  EXPECT_EQ(Text(reply, "choices.0.message.content"), "Let me look. ");
  EXPECT_EQ(Text(reply, "choices.0.message.tool_calls.1.function.arguments"), "{}");
  EXPECT_NE(Text(reply, "choices.0.message.tool_calls.0.id"),
            Text(reply, "choices.0.message.tool_calls.1.id"));
  reply = Json(Chat("script:cut", tools + ",\"max_tokens\":30"));
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "length");
  EXPECT_EQ(At(reply, "choices.0.message").Find("tool_calls"), nullptr);
  EXPECT_EQ(Text(reply, "choices.0.message.content"), "");
  reply = Json(Chat("script:hello", tools));
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "stop");
}

TEST_F(ServerTest, ToolChoiceNoneHidesTheToolsAndLeavesCallsAsText) {
  Start();
  const json::Value reply =
      Json(Chat("script:tool", std::string(kToolsField) + R"(,"tool_choice":"none")"));
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "stop");
  EXPECT_TRUE(Text(reply, "choices.0.message.content").starts_with("<tool_call>"));
  const std::string prompt = text.Decode(engine->last_request().prompt_ids, false);
  EXPECT_EQ(prompt.find("[tools]"), std::string::npos);
}

TEST_F(ServerTest, ThoughtsArriveUnderBothNamesAndAreCounted) {
  Start();
  const json::Value reply = Json(Chat("script:think"));
  EXPECT_EQ(Text(reply, "choices.0.message.reasoning_content"), "two and two");
  EXPECT_EQ(Text(reply, "choices.0.message.reasoning"), "two and two");
  EXPECT_EQ(Text(reply, "choices.0.message.content"), "Four.");
  EXPECT_EQ(Int(reply, "usage.completion_tokens_details.reasoning_tokens"), 13);
}

TEST_F(ServerTest, C10_ThinkingIsSwitchedByTheRequest) {
  default_kwargs.Set("enable_thinking", false);
  Start();
  const auto prompt_end = [&](std::string_view fields) {
    const ClientResponse response = Chat("script:hello", fields);
    EXPECT_EQ(response.status, 200) << response.body;
    return text.Decode(engine->last_request().prompt_ids, false)
        .substr(std::string("[user]script:hello").size());
  };
  EXPECT_EQ(prompt_end(""), "[assistant]<think></think>");
  EXPECT_EQ(prompt_end(R"(,"reasoning_effort":"high")"), "[assistant]<think>");
  EXPECT_EQ(prompt_end(R"(,"reasoning_effort":"none")"), "[assistant]<think></think>");
  EXPECT_EQ(prompt_end(R"(,"reasoning_effort":"minimal")"), "[assistant]<think></think>");
  EXPECT_EQ(prompt_end(R"(,"chat_template_kwargs":{"enable_thinking":true})"),
            "[assistant]<think>");
  const ClientResponse unknown = Chat("x", R"(,"reasoning_effort":"extreme")");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(Text(Json(unknown), "error.param"), "reasoning_effort");
}

TEST_F(ServerTest, C08_ToolHistoryReachesTheTemplateAsObjects) {
  Start();
  const auto prompt = [&](std::string_view arguments) {
    const std::string body =
        R"({"messages":[{"role":"user","content":"w"},{"role":"assistant","content":null,)"
        R"("refusal":null,"annotations":null,"audio":null,"function_call":null,)"
        R"("reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function",)"
        R"("function":{"name":"f","arguments":)" +
        std::string(arguments) +
        R"(}}]},{"role":"tool","tool_call_id":"c1","content":"sunny"},)"
        R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})";
    const ClientResponse response = Post("/v1/chat/completions", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return text.Decode(engine->last_request().prompt_ids, false);
  };
  const std::string as_object = prompt(R"({"city":"Paris","n":2})");
  EXPECT_EQ(as_object,
            "[user]w[assistant]<think>hm</think>(f{\"city\":\"Paris\",\"n\":2})[tool]sunny"
            "[user]a\nb[assistant]");
  EXPECT_EQ(prompt(R"("{\"city\":\"Paris\",\"n\":2}")"), as_object);
  EXPECT_NE(prompt(R"("")").find("(f{})"), std::string::npos);
  EXPECT_NE(prompt(R"("null")").find("(f{})"), std::string::npos);
  EXPECT_NE(prompt("null").find("(f{})"), std::string::npos);
}

TEST_F(ServerTest, GivesNChoicesWithTheirIndexes) {
  Start();
  const json::Value reply = Json(Chat("script:hello", ",\"n\":3,\"seed\":7"));
  ASSERT_EQ(At(reply, "choices").as_array().size(), 3u);
  EXPECT_EQ(Int(reply, "choices.2.index"), 2);
  EXPECT_EQ(Text(reply, "choices.2.message.content"), "Hello, world!");
  EXPECT_EQ(Int(reply, "usage.completion_tokens"), 42);
  EXPECT_EQ(Int(reply, "usage.prompt_tokens"), 29);
  EXPECT_EQ(engine->last_request().sampling.seed, 9u);
  const ClientResponse streamed = Chat("script:hello", ",\"n\":2,\"stream\":true");
  std::map<int64_t, Joined> joined = JoinDeltas(ChunksOf(streamed.body));
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[1].content, "Hello, world!");
  EXPECT_EQ(joined[0].num_finishes + joined[1].num_finishes, 2);
}

TEST_F(ServerTest, GivesLogprobsInTheChatForm) {
  Start();
  const json::Value reply = Json(Chat("script:emoji", ",\"logprobs\":true,\"top_logprobs\":2"));
  EXPECT_EQ(Text(reply, "choices.0.logprobs.content.0.token"), "a");
  EXPECT_EQ(Int(reply, "choices.0.logprobs.content.0.bytes.0"), 97);
  EXPECT_EQ(At(reply, "choices.0.logprobs.content.0.top_logprobs").as_array().size(), 2u);
  EXPECT_EQ(*At(reply, "choices.0.logprobs.content.0.top_logprobs.1.logprob").ToDouble(), -1.5);
  EXPECT_EQ(Text(reply, "choices.0.logprobs.content.1.token"), "\xEF\xBF\xBD");
}

TEST_F(ServerTest, C15_CharactersAreWholeInEveryChunk) {
  Start();
  const ClientResponse streamed = Chat("script:emoji", ",\"stream\":true");
  const std::string want =
      "a\xF0\x9F\x98\x80 \xF0\x9F\x87\xA9\xF0\x9F\x87\xAA e\xCC\x81 \xE4\xBD\xA0\xE5\xA5\xBD "
      "\xEF\xBF\xBD!\xEF\xBF\xBD";
  EXPECT_EQ(JoinDeltas(ChunksOf(streamed.body))[0].content, want);
  EXPECT_EQ(Text(Json(Chat("script:emoji")), "choices.0.message.content"), want);
}

TEST_F(ServerTest, PassesEverySamplingFieldOn) {
  default_sampling.top_k = 20;
  default_sampling.temperature = 0.6;
  Start();
  ASSERT_EQ(Chat("script:hello").status, 200);
  EXPECT_EQ(engine->last_request().sampling.top_k, 20);
  EXPECT_EQ(engine->last_request().sampling.temperature, 0.6);
  EXPECT_EQ(engine->last_request().max_tokens, kWindow - 29) << "the rest of the window";
  const ClientResponse response =
      Chat("script:hello",
           R"(,"temperature":0,"top_p":0.5,"top_k":-1,"min_p":0.1,"presence_penalty":1,)"
           R"("frequency_penalty":-1,"repetition_penalty":1.1,"seed":-1,"stop":["a","b"],)"
           R"("stop_token_ids":[260],"ignore_eos":true,"logit_bias":{"65":-100},)"
           R"("max_completion_tokens":5,"user":"u","metadata":{"a":1},"store":false,)"
           R"("parallel_tool_calls":true,"tool_choice":"auto","response_format":{"type":"text"})");
  ASSERT_EQ(response.status, 200) << response.body;
  const Request request = engine->last_request();
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.sampling.top_p, 0.5);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.min_p, 0.1);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.1);
  EXPECT_EQ(request.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.stop_token_ids, std::vector<int32_t>{260});
  EXPECT_TRUE(request.ignore_eos);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
  EXPECT_EQ(request.sampling.logit_bias[0].first, 65);
  EXPECT_EQ(request.max_tokens, 5);
}

TEST_F(ServerTest, ReportsAFailureInTheMiddleOfAStreamAsAnEvent) {
  Start();
  const ClientResponse streamed = Chat("script:error", ",\"stream\":true");
  EXPECT_EQ(streamed.status, 200);
  const std::vector<json::Value> chunks = ChunksOf(streamed.body);
  EXPECT_EQ(Text(chunks.back(), "error.message"), "the step failed: device lost");
  EXPECT_EQ(Text(chunks.back(), "error.type"), "server_error");
  const ClientResponse whole = Chat("script:error");
  EXPECT_EQ(whole.status, 500);
  EXPECT_EQ(Text(Json(whole), "error.code"), "internal");
}

}  // namespace
}  // namespace ft::server
