// What a chat request may say, field by field: every refusal names its place.
#include "core/server/api/chat_request.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/json/parse.h"
#include "core/json/write.h"

namespace ft::server {
namespace {

RequestDefaults Defaults() {
  RequestDefaults defaults;
  defaults.served_model_name = "m";
  defaults.engine.max_model_len = 100;
  defaults.engine.max_output_tokens = 100;
  defaults.vocab_size = 1000;
  defaults.max_choices = 8;
  return defaults;
}

ApiResult<ChatRequest> Read(std::string_view body) {
  ApiResult<json::Value> parsed = ParseBody(body, size_t{1} << 20, 64);
  if (!parsed.has_value()) {
    return tl::unexpected(parsed.error());
  }
  return ReadChatRequest(*parsed, Defaults(), json::Value::MakeObject());
}

std::string WithMessages(std::string_view fields) {
  return R"({"messages":[{"role":"user","content":"hi"}])" + std::string(fields) + "}";
}

struct Case {
  const char* fields;
  const char* param;
  const char* code;
};

TEST(ChatRequestTest, RefusesAFieldAtItsPlace) {
  const std::vector<Case> cases = {
      {R"(,"temperature":"hot")", "temperature", "invalid_type"},
      {R"(,"temperature":-0.1)", "temperature", "invalid_value"},
      {R"(,"temperature":2.1)", "temperature", "invalid_value"},
      {R"(,"top_p":0)", "top_p", "invalid_value"},
      {R"(,"top_p":1.5)", "top_p", "invalid_value"},
      {R"(,"top_k":-2)", "top_k", "invalid_value"},
      {R"(,"top_k":1.5)", "top_k", "invalid_type"},
      {R"(,"min_p":2)", "min_p", "invalid_value"},
      {R"(,"presence_penalty":3)", "presence_penalty", "invalid_value"},
      {R"(,"frequency_penalty":-3)", "frequency_penalty", "invalid_value"},
      {R"(,"repetition_penalty":0)", "repetition_penalty", "invalid_value"},
      {R"(,"seed":"7")", "seed", "invalid_type"},
      {R"(,"seed":99999999999999999999)", "seed", "invalid_value"},
      {R"(,"n":0)", "n", "invalid_value"},
      {R"(,"n":9)", "n", "invalid_value"},
      {R"(,"max_tokens":0)", "max_tokens", "invalid_value"},
      {R"(,"max_tokens":"5")", "max_tokens", "invalid_type"},
      {R"(,"max_tokens":5,"max_completion_tokens":6)", "max_tokens", "invalid_value"},
      {R"(,"stop":5)", "stop", "invalid_type"},
      {R"(,"stop":"")", "stop", "invalid_value"},
      {R"(,"stop":["a",5])", "stop[1]", "invalid_type"},
      {R"(,"stop":["a","b","c","d","e"])", "stop", "invalid_value"},
      {R"(,"stop_token_ids":[1000])", "stop_token_ids[0]", "invalid_value"},
      {R"(,"stop_token_ids":["a"])", "stop_token_ids[0]", "invalid_type"},
      {R"(,"ignore_eos":1)", "ignore_eos", "invalid_type"},
      {R"(,"logit_bias":{"1000":1})", "logit_bias", "invalid_value"},
      {R"(,"logit_bias":{"x":1})", "logit_bias", "invalid_value"},
      {R"(,"logit_bias":{"5":101})", "logit_bias.5", "invalid_value"},
      {R"(,"logit_bias":{"5":null})", "logit_bias.5", "invalid_type"},
      {R"(,"logprobs":5)", "logprobs", "invalid_type"},
      {R"(,"top_logprobs":5)", "top_logprobs", "invalid_value"},
      {R"(,"logprobs":true,"top_logprobs":21)", "top_logprobs", "invalid_value"},
      {R"(,"stream":"yes")", "stream", "invalid_type"},
      {R"(,"stream_options":{"include_usage":true})", "stream_options", "invalid_value"},
      {R"(,"stream":true,"stream_options":{"x":1})", "stream_options.x", "unknown_parameter"},
      {R"(,"response_format":{"type":"json_object"})", "response_format.type",
       "unsupported_parameter"},
      {R"(,"response_format":{"type":"json_schema","json_schema":{}})", "response_format.type",
       "unsupported_parameter"},
      {R"(,"response_format":{})", "response_format.type", "missing_required_parameter"},
      {R"(,"tool_choice":"required")", "tool_choice", "unsupported_parameter"},
      {R"(,"tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice",
       "unsupported_parameter"},
      {R"(,"tool_choice":"sometimes")", "tool_choice", "invalid_value"},
      {R"(,"parallel_tool_calls":false)", "parallel_tool_calls", "unsupported_parameter"},
      {R"(,"reasoning_effort":"extreme")", "reasoning_effort", "invalid_value"},
      {R"(,"chat_template_kwargs":{"chat_template":"x"})", "chat_template_kwargs.chat_template",
       "unsupported_parameter"},
      {R"(,"functions":[])", "functions", "unsupported_parameter"},
      {R"(,"tools":{})", "tools", "invalid_type"},
      {R"(,"tools":[{"type":"function"}])", "tools[0].function", "missing_required_parameter"},
      {R"(,"tools":[{"type":"function","function":{}}])", "tools[0].function.name",
       "missing_required_parameter"},
      {R"(,"tools":[{"type":"web_search"}])", "tools[0].type", "unsupported_parameter"},
      {R"(,"tools":[{"type":"function","function":{"name":"f","strict":true}}])",
       "tools[0].function.strict", "unsupported_parameter"},
      {R"(,"guided_json":{})", "guided_json", "unknown_parameter"},
      {R"(,"model":5)", "model", "invalid_type"},
      {R"(,"model":"other")", "model", "model_not_found"},
  };
  for (const Case& one : cases) {
    const ApiResult<ChatRequest> request = Read(WithMessages(one.fields));
    ASSERT_FALSE(request.has_value()) << one.fields;
    EXPECT_EQ(request.error().param, one.param) << one.fields << ": " << request.error().message;
    EXPECT_EQ(request.error().code, one.code) << one.fields << ": " << request.error().message;
  }
}

TEST(ChatRequestTest, AcceptsDefaultsNullsAndWhatCannotChangeTheAnswer) {
  for (const char* fields :
       {R"(,"n":1,"parallel_tool_calls":true,"response_format":{"type":"text"})",
        R"(,"temperature":null,"stop":null,"tools":null,"tool_choice":null,"logit_bias":null)",
        R"(,"functions":null,"function_call":null,"audio":null,"modalities":["text"])",
        R"(,"stream_options":null,"response_format":null,"reasoning_effort":null)",
        R"(,"user":"u","metadata":{},"store":true,"service_tier":"auto")",
        R"(,"safety_identifier":"s","prompt_cache_key":"k","tools":[],"tool_choice":"none")",
        R"(,"max_tokens":7,"max_completion_tokens":7,"top_k":0,"seed":-5,"temperature":0)",
        R"(,"max_tokens":7.0,"stop":[],"top_logprobs":0,"logprobs":false,"model":"m")"}) {
    const ApiResult<ChatRequest> request = Read(WithMessages(fields));
    EXPECT_TRUE(request.has_value()) << fields << ": " << request.error().message;
  }
}

TEST(ChatRequestTest, RefusesAMessageAtItsPlace) {
  const std::vector<Case> cases = {
      {"", "messages", "invalid_value"},
      {"5", "messages[0]", "invalid_type"},
      {R"({"content":"x"})", "messages[0].role", "missing_required_parameter"},
      {R"({"role":"wizard","content":"x"})", "messages[0].role", "invalid_value"},
      {R"({"role":"user"})", "messages[0].content", "missing_required_parameter"},
      {R"({"role":"user","content":null})", "messages[0].content", "missing_required_parameter"},
      {R"({"role":"user","content":5})", "messages[0].content", "invalid_type"},
      {R"({"role":"user","content":[{"type":"image_url","image_url":{}}]})",
       "messages[0].content[0].type", "unsupported_parameter"},
      {R"({"role":"user","content":[{"type":"text"}]})", "messages[0].content[0].text",
       "missing_required_parameter"},
      {R"({"role":"user","content":["x"]})", "messages[0].content[0]", "invalid_type"},
      {R"({"role":"user","content":"x","mood":"good"})", "messages[0].mood", "unknown_parameter"},
      {R"({"role":"user","content":"x","tool_calls":[]})", "messages[0].tool_calls",
       "unknown_parameter"},
      {R"({"role":"assistant","content":"x","refusal":"no"})", "messages[0].refusal",
       "unsupported_parameter"},
      {R"({"role":"assistant","tool_calls":[{"id":"a","type":"function"}]})",
       "messages[0].tool_calls[0].function", "missing_required_parameter"},
      {R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[1]}}]})",
       "messages[0].tool_calls[0].function.arguments", "invalid_type"},
      {R"({"role":"assistant","tool_calls":[{"type":"custom","function":{"name":"f"}}]})",
       "messages[0].tool_calls[0].type", "unsupported_parameter"},
      {R"({"role":"user","content":"ok"},{"role":"tool","tool_call_id":5})",
       "messages[1].tool_call_id", "invalid_type"},
  };
  for (const Case& one : cases) {
    const ApiResult<ChatRequest> request = Read("{\"messages\":[" + std::string(one.fields) + "]}");
    ASSERT_FALSE(request.has_value()) << one.fields;
    EXPECT_EQ(request.error().param, one.param) << one.fields << ": " << request.error().message;
    EXPECT_EQ(request.error().code, one.code) << one.fields << ": " << request.error().message;
  }
}

TEST(ChatRequestTest, GivesMessagesOneShape) {
  const ApiResult<ChatRequest> request = Read(
      R"({"messages":[{"role":"developer","content":"d"},{"role":"user","name":"bob","content":)"
      R"([{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant",)"
      R"("content":null,"reasoning":"r","annotations":[],"tool_calls":[{"id":"c","index":0,)"
      R"("type":"function","function":{"name":"f","arguments":"{\"x\": 1.0}"}}]},)"
      R"({"role":"tool","tool_call_id":"c","content":"t"},)"
      R"({"role":"assistant","content":"","tool_calls":[]}]})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(json::Write(request->prompt.messages),
            R"([{"role":"system","content":"d"},{"role":"user","content":"a\nb","name":"bob"},)"
            R"({"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c",)"
            R"("index":0,"type":"function","function":{"name":"f","arguments":"{\"x\": 1.0}"}}]},)"
            R"({"role":"tool","content":"t","tool_call_id":"c"},)"
            R"({"role":"assistant","content":""}])");
}

TEST(ChatRequestTest, ReadsTheThinkingSwitch) {
  EXPECT_TRUE(Read(WithMessages(R"(,"reasoning_effort":"none")"))->wants_no_thinking);
  EXPECT_FALSE(Read(WithMessages(R"(,"reasoning_effort":"low")"))->wants_no_thinking);
  const auto explicit_wins = Read(WithMessages(
      R"(,"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true})"));
  EXPECT_FALSE(explicit_wins->wants_no_thinking);
  EXPECT_EQ(*explicit_wins->prompt.kwargs.Find("enable_thinking"), json::Value(true));
}

TEST(MakeRequestTest, AdmitsANeedEqualToTheWindowAndFillsTheRest) {
  EngineInfo engine;
  engine.max_model_len = 100;
  engine.max_output_tokens = 100;
  CommonFields fields;
  const std::vector<int32_t> ids(60, 1);
  EXPECT_EQ(MakeRequest(ids, fields, engine)->max_tokens, 40);
  fields.max_tokens = 40;
  EXPECT_TRUE(MakeRequest(ids, fields, engine).has_value());
  fields.max_tokens = 41;
  EXPECT_EQ(MakeRequest(ids, fields, engine).error().code, "context_length_exceeded");
  fields.max_tokens = int64_t{1} << 40;
  EXPECT_EQ(MakeRequest(ids, fields, engine).error().code, "context_length_exceeded");
  EXPECT_EQ(MakeRequest({}, fields, engine).error().code, "invalid_value");
  engine.max_output_tokens = 30;
  fields.max_tokens.reset();
  EXPECT_EQ(MakeRequest(ids, fields, engine)->max_tokens, 30);
  fields.max_tokens = 31;
  EXPECT_EQ(MakeRequest(ids, fields, engine).error().param, "max_tokens");
}

}  // namespace
}  // namespace ft::server
