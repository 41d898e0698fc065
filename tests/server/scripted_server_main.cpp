// ft_scripted_server: the server in front of a scripted engine, for tests with real clients.
// Usage: ft_scripted_server [PORT [API_KEY]]. Prints "listening on URL" when it is ready.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/server/server.h"
#include "tests/server/scripted_engine.h"
#include "tests/server/scripted_text.h"

int main(int argc, char** argv) {
  using namespace ft::server;  // NOLINT(google-build-using-namespace): one small main
  ServerOptions options;
  options.port = static_cast<uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  options.api_key = argc > 2 ? argv[2] : "";
  options.served_model_name = "scripted";
  options.version = "scripted";
  auto bound = Server::Bind(options);
  if (!bound.ok()) {
    std::fprintf(stderr, "%s\n", bound.status().message().c_str());
    return 1;
  }
  const auto server = std::move(bound).value();
  ft::EngineInfo info;
  info.max_model_len = 4096;
  info.max_output_tokens = 4096;
  info.trained_positions = 4096;
  info.max_running_requests = 8;
  info.max_queued_requests = 64;
  ScriptedEngine engine(server->output_sink(), info);
  const ScriptedText text;
  ServedModel model;
  model.engine = &engine;
  model.text = &text;
  model.root = "scripted";
  server->SetModel(model);
  std::printf("listening on %s\n", server->url().c_str());
  std::fflush(stdout);
  const ft::Status status = server->Run();
  if (!status.ok()) {
    std::_Exit(130);
  }
  return 0;
}
