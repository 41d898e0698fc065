// The HTTP side: broken and hostile requests, who may ask, leaving clients, loading, draining.
#include "tests/server/server_fixture.h"

namespace ft::server {
namespace {

std::string ErrorCode(const ClientResponse& response) {
  Result<json::Value> parsed = json::Parse(response.body);
  EXPECT_TRUE(parsed.ok()) << response.body;
  const json::Value code = parsed.ok() ? At(parsed.value(), "error.code") : json::Value();
  return code.is_string() ? code.as_string() : "";
}

TEST_F(ServerTest, RefusesBodiesThatAreNoRequest) {
  Start();
  for (const char* body : {"", "  ", "{", "[1]", "\"x\"", "{\"messages\":[}", "{\"a\":\"\xff\"}",
                           "{\"messages\":[],\"messages\":[]}", "{} x"}) {
    const ClientResponse response = Post("/v1/chat/completions", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_EQ(Text(Json(response), "error.type"), "invalid_request_error") << body;
  }
  const ClientResponse deep = Post("/v1/chat/completions", std::string(100000, '['));
  EXPECT_EQ(deep.status, 400);
  EXPECT_NE(deep.body.find("deeper"), std::string::npos);
  const ClientResponse broken = Post("/v1/chat/completions", "{\n  \"messages\": [,]}");
  EXPECT_NE(broken.body.find("line 2, column"), std::string::npos) << broken.body;
  EXPECT_EQ(Chat("still alive").status, 200);
}

TEST_F(ServerTest, RefusesBodiesThatAreTooLong) {
  options.limits.max_body_bytes = 1000;
  Start();
  const std::string body = ChatBody(std::string(2000, 'x'));
  const ClientResponse by_length = Post("/v1/chat/completions", body);
  EXPECT_EQ(by_length.status, 413);
  EXPECT_EQ(ErrorCode(by_length), "request_too_large");
  ClientConnection chunked(server->port());
  chunked.Send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
      "Transfer-Encoding: chunked\r\n\r\n800\r\n" +
      std::string(0x800, 'x') + "\r\n");
  EXPECT_EQ(chunked.Receive().status, 413);
}

TEST_F(ServerTest, RefusesPathsMethodsAndBrokenHttp) {
  Start();
  EXPECT_EQ(Get("/nowhere").status, 404);
  const ClientResponse wrong = Get("/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST");
  EXPECT_EQ(Post("/health", "{}").headers.at("allow"), "GET, HEAD");
  for (const char* bytes :
       {"nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /health HTTP/1.1\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
    ClientConnection connection(server->port());
    connection.Send(bytes);
    EXPECT_EQ(connection.Receive().status, 400) << bytes;
  }
  ClientConnection long_header(server->port());
  long_header.Send("GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100000, 'x') +
                   "\r\n\r\n");
  EXPECT_EQ(long_header.Receive().status, 431);
  const ClientResponse zipped = Post("/v1/chat/completions", "{}", "Content-Encoding: gzip\r\n");
  EXPECT_EQ(zipped.status, 415);
  EXPECT_EQ(Fetch(server->port(), "HEAD", "/health").status, 200);
}

TEST_F(ServerTest, KeepsConnectionsAliveAndServesPipelinedRequests) {
  Start();
  ClientConnection connection(server->port());
  const std::string chat = RequestText("POST", "/v1/chat/completions", ChatBody("script:hello"));
  connection.Send(chat + chat + RequestText("GET", "/health"));
  EXPECT_EQ(connection.Receive().status, 200);
  EXPECT_EQ(connection.Receive().status, 200);
  EXPECT_EQ(connection.Receive().status, 200);
  for (const char c : chat) {
    connection.Send(std::string(1, c));
  }
  EXPECT_EQ(connection.Receive().status, 200);
  connection.Send(RequestText("GET", "/health", "", "Connection: close\r\n"));
  EXPECT_EQ(connection.Receive().headers.at("connection"), "close");
  EXPECT_EQ(connection.ReadToEnd(), "");
}

TEST_F(ServerTest, AsksForTheKeyInEitherHeader) {
  options.api_key = "secret-key";
  Start();
  EXPECT_EQ(Get("/v1/models").status, 401);
  EXPECT_EQ(Get("/nowhere").status, 401);
  EXPECT_EQ(Get("/metrics").status, 401);
  EXPECT_EQ(Get("/v1/models", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(Get("/v1/models", "Authorization: Bearer secret-kez\r\n").status, 401);
  EXPECT_EQ(Get("/v1/models", "Authorization: bearer secret-key\r\n").status, 200);
  EXPECT_EQ(Get("/v1/models", "X-API-Key: secret-key\r\n").status, 200);
  EXPECT_EQ(Get("/health").status, 200);
  EXPECT_EQ(Get("/ready").status, 200);
  EXPECT_EQ(Post("/v1/chat/completions", ChatBody("x")).status, 401);
}

TEST_F(ServerTest, RefusesForeignHostsAndPagesOfOtherOrigins) {
  options.cors_origins = {"https://app.example"};
  options.allowed_hosts = {"proxy.example"};
  Start();
  EXPECT_EQ(Get("/health", "Host: evil.example\r\n").status, 403);
  EXPECT_EQ(Get("/health", "Host: 127.0.0.1.evil.example\r\n").status, 403);
  EXPECT_EQ(Get("/health", "Host: proxy.example:8000\r\n").status, 200);
  EXPECT_EQ(Get("/health", "Host: [::1]:8000\r\n").status, 200);
  EXPECT_EQ(Get("/health", "Host: 127.0.0.1:8000\r\n").status, 200);
  EXPECT_EQ(Get("/health", "Origin: https://evil.example\r\n").status, 403);
  EXPECT_EQ(Get("/health", "Origin: http://localhost\r\n").status, 200) << "the server's own page";
  const ClientResponse allowed = Get("/health", "Origin: https://app.example\r\n");
  EXPECT_EQ(allowed.headers.at("access-control-allow-origin"), "https://app.example");
  const ClientResponse preflight = Fetch(server->port(), "OPTIONS", "/v1/chat/completions", {},
                                         "Origin: https://app.example\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_NE(preflight.headers.at("access-control-allow-methods").find("POST"), std::string::npos);
  EXPECT_EQ(Fetch(server->port(), "OPTIONS", "/v1/chat/completions").status, 405);
}

TEST_F(ServerTest, TakesTheClientsRequestIdWhenItIsHarmless) {
  Start();
  EXPECT_EQ(Get("/health", "X-Request-Id: abc-1\r\n").headers.at("x-request-id"), "abc-1");
  EXPECT_TRUE(
      Get("/health", "X-Request-Id: a b\r\n").headers.at("x-request-id").starts_with("req_"));
}

TEST_F(ServerTest, CancelsWhenTheClientLeavesInSilenceOrInTheMiddle) {
  Start();
  const std::string silent = ChatBody("script:silent", ",\"stream\":true");
  uint64_t cancelled = 0;
  for (const std::string& body :
       {silent, ChatBody("script:silent"), ChatBody("script:hold", ",\"stream\":true"),
        ChatBody("script:hold", ",\"n\":3")}) {
    ClientConnection connection(server->port());
    connection.Send(RequestText("POST", "/v1/chat/completions", body));
    const size_t num_choices = body.find("\"n\":3") == std::string::npos ? 1 : 3;
    ASSERT_TRUE(engine->WaitForHeld(num_choices));
    connection.Close();
    cancelled += num_choices;
    EXPECT_TRUE(engine->WaitForCancelled(cancelled)) << body;
  }
  EXPECT_EQ(engine->stats().num_running, 0);
  EXPECT_EQ(Chat("script:hello").status, 200);
  EXPECT_EQ(Int(Json(Get("/v1/stats")), "requests.clients_gone"), 4);
}

TEST_F(ServerTest, PingsWhileAStreamIsSilent) {
  options.ping_interval = std::chrono::milliseconds(1);
  Start();
  ClientConnection connection(server->port());
  connection.Send(
      RequestText("POST", "/v1/chat/completions", ChatBody("script:silent", ",\"stream\":true")));
  EXPECT_TRUE(connection.ReadUntil(": ping\n\n"));
  EXPECT_TRUE(connection.ReadUntil(": ping\n\n"));
  engine->Release();
  EXPECT_TRUE(connection.ReadUntil("data: [DONE]\n\n"));
}

TEST_F(ServerTest, SaysTooManyWhenTheQueueIsFull) {
  info.max_running_requests = 1;
  info.max_queued_requests = 1;
  Start();
  ClientConnection first(server->port());
  first.Send(RequestText("POST", "/v1/chat/completions", ChatBody("script:hold")));
  ClientConnection second(server->port());
  second.Send(RequestText("POST", "/v1/chat/completions", ChatBody("script:hold")));
  ASSERT_TRUE(engine->WaitForHeld(2));
  const ClientResponse refused = Chat("script:hello");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  engine->Release();
  EXPECT_EQ(first.Receive().status, 200);
  EXPECT_EQ(second.Receive().status, 200);
}

TEST_F(ServerTest, TakesBackTheChoicesThatFitWhenTheOthersDoNot) {
  info.max_running_requests = 1;
  info.max_queued_requests = 1;
  Start();
  EXPECT_EQ(Chat("script:hold", ",\"n\":3").status, 429);
  EXPECT_TRUE(engine->WaitForCancelled(2));
  EXPECT_EQ(engine->stats().num_running, 0);
}

TEST_F(ServerTest, SaysHowFarLoadingIsAndRefusesWork) {
  Start(/*with_model=*/false);
  server->SetLoadProgress({"weights", "model-00001.safetensors", 10, 40});
  const ClientResponse health = Get("/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(Text(Json(health), "status"), "loading");
  EXPECT_EQ(Text(Json(health), "phase"), "weights");
  EXPECT_EQ(Int(Json(health), "progress.done_bytes"), 10);
  EXPECT_EQ(Get("/ready").status, 503);
  EXPECT_EQ(Get("/v1/models").status, 503);
  EXPECT_EQ(Chat("x").status, 503);
  EXPECT_EQ(Post("/tokenize", R"({"prompt":"x"})").status, 503);
  EXPECT_EQ(Get("/metrics").status, 200);
  SetModel();
  EXPECT_EQ(Get("/ready").status, 200);
  EXPECT_EQ(Chat("x").status, 200);
  EXPECT_EQ(Text(Json(Get("/health")), "status"), "ok");
}

TEST_F(ServerTest, SaysWhyItCannotServe) {
  Start(/*with_model=*/false);
  server->SetFailed(Status(StatusCode::kDataLoss, "shard 2 is short"));
  const ClientResponse health = Get("/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(Text(Json(health), "message"), "shard 2 is short");
  EXPECT_NE(Chat("x").body.find("shard 2 is short"), std::string::npos);
}

TEST_F(ServerTest, FinishesRunningStreamsWhenItDrains) {
  Start();
  ClientConnection running(server->port());
  running.Send(
      RequestText("POST", "/v1/chat/completions", ChatBody("script:hold", ",\"stream\":true")));
  ASSERT_TRUE(engine->WaitForHeld(1));
  ClientConnection probe(server->port());  // open before the drain: it must not hold it up
  probe.Send(RequestText("GET", "/ready"));
  EXPECT_EQ(probe.Receive().status, 200);
  server->Stop();
  EXPECT_EQ(Get("/ready").status, 503);
  EXPECT_EQ(Get("/health").status, 200);
  EXPECT_EQ(Chat("x").status, 503);
  EXPECT_TRUE(engine->is_draining());
  engine->Release();
  EXPECT_TRUE(running.ReadUntil("\"finish_reason\":\"stop\""));
  EXPECT_TRUE(running.ReadUntil("data: [DONE]\n\n"));
  Join();
  EXPECT_TRUE(run_status.ok()) << run_status.message();
}

TEST_F(ServerTest, CutsWhatStillRunsAfterTheShutdownTimeout) {
  options.shutdown_timeout = std::chrono::milliseconds(1);
  Start();
  ClientConnection running(server->port());
  running.Send(
      RequestText("POST", "/v1/chat/completions", ChatBody("script:hold", ",\"stream\":true")));
  ASSERT_TRUE(running.ReadUntil("\"content\":\"t\""));
  server->Stop();
  EXPECT_TRUE(running.ReadUntil("shut down before the reply was done"));
  Join();
  EXPECT_TRUE(run_status.ok());
  EXPECT_TRUE(engine->WaitForCancelled(1));
}

TEST_F(ServerTest, EndsAtOnceWhenTold) {
  Start();
  ClientConnection running(server->port());
  running.Send(RequestText("POST", "/v1/chat/completions", ChatBody("script:hold")));
  ASSERT_TRUE(engine->WaitForHeld(1));
  StopNow();
  EXPECT_EQ(run_status.code(), StatusCode::kCancelled);
  EXPECT_TRUE(engine->WaitForCancelled(1));
}

TEST_F(ServerTest, RefusesATakenPortAndOpenDoorsBeforeAnythingElse) {
  Start();
  ServerOptions second = options;
  second.port = server->port();
  const auto taken = Server::Bind(second);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(taken.status().message().find("is taken"), std::string::npos);
  second.port = 0;
  second.host = "0.0.0.0";
  const auto open = Server::Bind(second);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.status().code(), StatusCode::kInvalidArgument);
  second.api_key = "k";
  EXPECT_TRUE(Server::Bind(second).ok());
}

TEST_F(ServerTest, AnswersHttp10WithoutChunks) {
  Start();
  ClientConnection connection(server->port());
  const std::string body = ChatBody("script:hello", ",\"stream\":true");
  connection.Send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
  const ClientResponse response = connection.Receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
}

}  // namespace
}  // namespace ft::server
