// A running server in front of a scripted engine, for tests of the wire.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "core/json/parse.h"
#include "core/json/write.h"
#include "core/server/server.h"
#include "tests/server/http_client.h"
#include "tests/server/scripted_engine.h"
#include "tests/server/scripted_text.h"

namespace ft::server {

class ServerTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWindow = 512;

  ServerTest() {
    options.port = 0;
    options.served_model_name = "scripted";
    options.version = "test";
    options.handle_signals = false;
    info.max_model_len = kWindow;
    info.max_output_tokens = kWindow;
    info.trained_positions = 4096;
    info.max_running_requests = 4;
    info.max_queued_requests = 4;
  }

  ~ServerTest() override { StopNow(); }

  /// With `options` and `info` as they are now.
  void Start(bool with_model = true) {
    Result<std::unique_ptr<Server>> bound = Server::Bind(options);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    server = std::move(bound).value();
    engine = std::make_unique<ScriptedEngine>(server->output_sink(), info);
    if (with_model) {
      SetModel();
    }
    thread_ = std::thread([this] { run_status = server->Run(); });
  }

  void SetModel() {
    ServedModel model;
    model.engine = engine.get();
    model.text = &text;
    model.root = "/models/scripted";
    model.default_sampling = default_sampling;
    model.default_template_kwargs = default_kwargs;
    server->SetModel(model);
  }

  /// Waits for Run to return by itself.
  void Join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  void StopNow() {
    if (thread_.joinable()) {
      server->StopNow();
      thread_.join();
    }
  }

  ClientResponse Get(std::string_view path, std::string_view headers = {}) {
    return Fetch(server->port(), "GET", path, {}, headers);
  }

  ClientResponse Post(std::string_view path, std::string_view body, std::string_view headers = {}) {
    return Fetch(server->port(), "POST", path, body, headers);
  }

  /// A chat of one user message, with more fields (", \"n\": 2").
  static std::string ChatBody(std::string_view content, std::string_view fields = {}) {
    return "{\"model\":\"scripted\",\"messages\":[{\"role\":\"user\",\"content\":\"" +
           std::string(content) + "\"}]" + std::string(fields) + "}";
  }

  ClientResponse Chat(std::string_view content, std::string_view fields = {}) {
    return Post("/v1/chat/completions", ChatBody(content, fields));
  }

  static json::Value Json(const ClientResponse& response) {
    EXPECT_EQ(response.headers.at("content-type"), "application/json") << response.body;
    Result<json::Value> parsed = json::Parse(response.body);
    EXPECT_TRUE(parsed.ok()) << response.body;
    return parsed.ok() ? std::move(parsed).value() : json::Value();
  }

  static std::string Text(const json::Value& value, std::string_view path) {
    const json::Value found = At(value, path);
    return found.is_string() ? found.as_string() : "<" + json::Write(found) + ">";
  }

  static int64_t Int(const json::Value& value, std::string_view path) {
    return At(value, path).ToInt64().value_or(-1);
  }

  ServerOptions options;
  EngineInfo info;
  SamplingParams default_sampling;
  json::Value default_kwargs = json::Value::MakeObject();
  ScriptedText text;
  std::unique_ptr<Server> server;
  std::unique_ptr<ScriptedEngine> engine;  // after the server: it goes first
  Status run_status;

 private:
  std::thread thread_;
};

inline constexpr std::string_view kToolsField =
    R"(,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}])";

}  // namespace ft::server
