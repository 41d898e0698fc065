// /v1/completions, /tokenize, /detokenize and the documents, end to end over a socket.
#include "tests/server/server_fixture.h"

namespace ft::server {
namespace {

TEST_F(ServerTest, CompletesTextIdsAndListsOfBoth) {
  Start();
  json::Value reply = Json(Post("/v1/completions", R"({"prompt":"script:hello","max_tokens":5})"));
  EXPECT_EQ(Text(reply, "object"), "text_completion");
  EXPECT_TRUE(Text(reply, "id").starts_with("cmpl-"));
  EXPECT_EQ(Text(reply, "choices.0.text"), "Hello");
  EXPECT_EQ(Text(reply, "choices.0.finish_reason"), "length");
  reply = Json(Post("/v1/completions", R"({"prompt":[104,105]})"));
  EXPECT_EQ(Text(reply, "choices.0.text"), "Hello, world!");
  EXPECT_EQ(Int(reply, "usage.prompt_tokens"), 2);
  reply = Json(Post("/v1/completions", R"({"prompt":["a","script:think"],"n":2})"));
  ASSERT_EQ(At(reply, "choices").as_array().size(), 4u);
  EXPECT_EQ(Text(reply, "choices.1.text"), "Hello, world!");
  EXPECT_EQ(Text(reply, "choices.2.text"), "<think>two and two</think>Four.");
  EXPECT_EQ(Int(reply, "choices.3.index"), 3);
  EXPECT_EQ(Int(reply, "usage.prompt_tokens"), 13) << "each prompt counts once";
  reply = Json(Post("/v1/completions", R"({"prompt":[[1,2],[3]]})"));
  EXPECT_EQ(At(reply, "choices").as_array().size(), 2u);
}

TEST_F(ServerTest, StreamsACompletion) {
  Start();
  const ClientResponse response =
      Post("/v1/completions",
           R"({"prompt":"script:emoji","stream":true,"stream_options":{"include_usage":true}})");
  const std::vector<json::Value> chunks = ChunksOf(response.body);
  std::string joined;
  for (size_t i = 0; i + 1 < chunks.size(); ++i) {
    joined += Text(chunks[i], "choices.0.text");
    EXPECT_EQ(At(chunks[i], "choices.0.finish_reason").is_null(), i + 2 < chunks.size());
  }
  const json::Value whole = Json(Post("/v1/completions", R"({"prompt":"script:emoji"})"));
  EXPECT_EQ(joined, Text(whole, "choices.0.text"));
  EXPECT_EQ(json::Write(At(chunks.back(), "usage")), json::Write(At(whole, "usage")));
}

TEST_F(ServerTest, GivesLogprobsInTheCompletionForm) {
  Start();
  const json::Value reply =
      Json(Post("/v1/completions", R"({"prompt":"script:emoji","logprobs":2})"));
  EXPECT_EQ(Text(reply, "choices.0.logprobs.tokens.0"), "a");
  EXPECT_EQ(Text(reply, "choices.0.logprobs.tokens.1"), "bytes:\\xf0");
  EXPECT_EQ(*At(reply, "choices.0.logprobs.token_logprobs.0").ToDouble(), -0.5);
  EXPECT_EQ(At(reply, "choices.0.logprobs.top_logprobs.0").as_object().size(), 2u);
  EXPECT_EQ(Int(reply, "choices.0.logprobs.text_offset.1"), 1);
}

TEST_F(ServerTest, C04_RefusesWhatCanNeverFitAndAdmitsWhatJustDoes) {
  Start();
  const auto complete = [&](size_t num_prompt, int max_tokens) {
    std::string ids = "65";
    for (size_t i = 1; i < num_prompt; ++i) {
      ids += ",65";
    }
    return Post("/v1/completions",
                "{\"prompt\":[" + ids + "],\"max_tokens\":" + std::to_string(max_tokens) + "}");
  };
  EXPECT_EQ(complete(511, 1).status, 200);
  for (const auto& [num_prompt, max_tokens] : {std::pair<size_t, int>{512, 1}, {600, 16}}) {
    const ClientResponse refused = complete(num_prompt, max_tokens);
    EXPECT_EQ(refused.status, 400);
    const json::Value error = Json(refused);
    EXPECT_EQ(Text(error, "error.code"), "context_length_exceeded");
    EXPECT_NE(Text(error, "error.message").find("512"), std::string::npos);
    EXPECT_NE(Text(error, "error.message").find(std::to_string(num_prompt)), std::string::npos);
  }
  const ClientResponse chat = Chat(std::string(600, 'x'), ",\"max_tokens\":16");
  EXPECT_EQ(Text(Json(chat), "error.code"), "context_length_exceeded");
  EXPECT_EQ(Int(Json(Get("/v1/models")), "data.0.max_model_len"), 512);
}

TEST_F(ServerTest, RefusesByNameWhatItDoesNotDo) {
  Start();
  for (const char* field : {"\"echo\":true", "\"suffix\":\"x\"", "\"best_of\":2"}) {
    const ClientResponse response =
        Post("/v1/completions", std::string("{\"prompt\":\"a\",") + field + "}");
    EXPECT_EQ(response.status, 400) << field;
    EXPECT_EQ(Text(Json(response), "error.code"), "unsupported_parameter") << field;
  }
  EXPECT_EQ(Post("/v1/completions",
                 R"({"prompt":"a","echo":false,"suffix":null,"best_of":1,"logprobs":null})")
                .status,
            200);
  for (const char* path : {"/v1/responses", "/v1/messages", "/generate"}) {
    const ClientResponse response = Post(path, "{}");
    EXPECT_EQ(response.status, 404);
    EXPECT_EQ(Text(Json(response), "error.code"), "not_built") << path;
  }
}

TEST_F(ServerTest, TokenizesAndBack) {
  Start();
  json::Value reply = Json(Post("/tokenize", R"({"prompt":"hi<think>","return_token_strs":true})"));
  EXPECT_EQ(json::Write(At(reply, "tokens")), "[104,105,256]");
  EXPECT_EQ(Int(reply, "count"), 3);
  EXPECT_EQ(Int(reply, "max_model_len"), 512);
  EXPECT_EQ(Text(reply, "token_strs.2"), "<think>");
  reply = Json(Post("/v1/tokenize", R"({"messages":[{"role":"user","content":"x"}]})"));
  EXPECT_EQ(Int(reply, "count"), 18);
  reply = Json(Post("/detokenize", R"({"tokens":[104,105,256]})"));
  EXPECT_EQ(Text(reply, "prompt"), "hi<think>");
  EXPECT_EQ(Post("/detokenize", R"({"tokens":[261]})").status, 400);
  EXPECT_EQ(Post("/tokenize", R"({"text":"x"})").status, 400);
}

TEST_F(ServerTest, ShowsItsModelAndRefusesAnother) {
  Start();
  const json::Value list = Json(Get("/v1/models"));
  EXPECT_EQ(Text(list, "data.0.id"), "scripted");
  EXPECT_EQ(Text(list, "data.0.root"), "/models/scripted");
  EXPECT_EQ(Text(Json(Get("/v1/models/scripted")), "id"), "scripted");
  EXPECT_EQ(Get("/v1/models/other").status, 404);
  const ClientResponse other = Post("/v1/completions", R"({"model":"other","prompt":"a"})");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(Text(Json(other), "error.code"), "model_not_found");
}

TEST_F(ServerTest, ShowsItsMetricsUnderBothNames) {
  Start();
  ASSERT_EQ(Chat("script:hello").status, 200);
  const ClientResponse response = Get("/metrics");
  EXPECT_EQ(response.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"ft:num_requests_running{model_name=\"scripted\"} 0",
        "vllm:generation_tokens_total{model_name=\"scripted\"} 14",
        "vllm:request_success_total{model_name=\"scripted\",finished_reason=\"stop\"} 1",
        "ft:moe_expert_hits{model_name=\"scripted\"} 7",
        "vllm:time_to_first_token_seconds_count{model_name=\"scripted\"} 1",
        "ft:http_requests_total{model_name=\"scripted\",path=\"/v1/chat/completions\","
        "status=\"200\"} 1"}) {
    EXPECT_NE(response.body.find(std::string(line) + "\n"), std::string::npos) << line << "\n"
                                                                               << response.body;
  }
  const json::Value stats = Json(Get("/v1/stats"));
  EXPECT_EQ(Int(stats, "requests.finished_stop"), 1);
  EXPECT_EQ(Int(stats, "moe.expert_misses"), 3);
}

TEST_F(ServerTest, HandsOutTheDocumentsOfTheApp) {
  options.config_document = [] { return json::Value(json::Array{json::Value("why")}); };
  Start();
  EXPECT_EQ(Get("/v1/config").body, "[\"why\"]");
  EXPECT_EQ(Get("/v1/plugins").status, 404);
}

}  // namespace
}  // namespace ft::server
