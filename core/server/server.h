// Server: HTTP/1.1 and the OpenAI-compatible API in front of an Engine. It knows no model, device
// or plugin; the app binds it first, loads, then hands the model in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/engine.h"
#include "core/json/value.h"
#include "core/server/text_services.h"

namespace ft::server {

/// Limits that hold for every connection and request.
struct ServerLimits {
  int max_connections = 1024;  ///< further ones are closed at once
  uint32_t max_header_bytes = uint32_t{64} << 10;
  uint64_t max_body_bytes = uint64_t{8} << 20;  ///< longer: 413
  int max_json_depth = 64;
  int max_choices = 64;  ///< completions of one request: `n` times prompts
  std::chrono::seconds header_timeout{20};
  std::chrono::seconds body_timeout{60};
  std::chrono::seconds idle_timeout{75};   ///< a kept-alive connection without a request
  std::chrono::seconds write_timeout{60};  ///< a client that does not read is gone
};

struct ServerOptions {
  std::string host = "127.0.0.1";          ///< address or name
  uint16_t port = 8000;                    ///< 0: any free one, see Server::port
  std::string api_key;                     ///< empty: none asked for; required beyond loopback
  std::string served_model_name;           ///< `id` in /v1/models
  std::string version;                     ///< of ft, shown by /health
  std::vector<std::string> cors_origins;   ///< exact origins, or "*"; empty: no CORS
  std::vector<std::string> allowed_hosts;  ///< Host names accepted on loopback beside its own
  std::chrono::milliseconds ping_interval{3000};      ///< `: ping` comments in a silent stream
  std::chrono::milliseconds shutdown_timeout{30000};  ///< how long a drain waits for streams
  int prepare_threads = 2;                            ///< parse, render and tokenize requests
  bool handle_signals = true;  ///< SIGINT, SIGTERM: the first drains, the second ends Run at once
  ServerLimits limits;
  /// Bodies of GET /v1/config and /v1/plugins. Called on the I/O thread at any time, also while
  /// loading. Must not hold secrets. Empty: 404.
  std::function<json::Value()> config_document;
  std::function<json::Value()> plugins_document;
};

/// What was loaded. Everything pointed to must outlive the Server.
struct ServedModel {
  Engine* engine = nullptr;  ///< made with Server::output_sink()
  const TextServices* text = nullptr;
  std::string root;                 ///< shown as `root` in /v1/models
  SamplingParams default_sampling;  ///< what a request that says nothing gets
  json::Value default_template_kwargs = json::Value::MakeObject();  ///< server-wide, request wins
};

/// Shown by /health while loading.
struct LoadProgress {
  std::string phase;   ///< "weights", "expert_banks", "warmup", …
  std::string detail;  ///< what is being read, e.g. a file's name; may be empty
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;  ///< 0: not known
  uint64_t bytes_per_second = 0;
};

/// One listener. Bind, then Run on one thread; the other functions may be called from any thread.
///
///   FT_ASSIGN_OR_RETURN(auto server, Server::Bind(options));   // a taken port ends it here
///   std::jthread loader([&] { …engine made with server->output_sink()…; server->SetModel(m); });
///   FT_RETURN_IF_ERROR(server->Run());
class Server {
 public:
  /// Opens the port. Errors: kUnavailable: it is taken, or the address is not ours;
  /// kInvalidArgument: host does not resolve, or is beyond loopback without an api_key.
  static Result<std::unique_ptr<Server>> Bind(ServerOptions options);

  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual std::string url() const = 0;  ///< "http://127.0.0.1:8000"

  /// Where the engine sends its outputs. Lives as long as the Server, and must not be called after
  /// its end: destroy the engine first.
  virtual OutputSink* output_sink() = 0;

  virtual void SetLoadProgress(LoadProgress progress) = 0;
  /// Ready from now on. Once.
  virtual void SetModel(ServedModel model) = 0;
  /// Loading or the engine failed for good: /health says why, everything else is a 503.
  virtual void SetFailed(Status status) = 0;

  /// Serves until stopped. Ok: every stream ended or was cut after shutdown_timeout.
  /// Errors: kCancelled: StopNow or a second signal (the program should end without waiting for
  /// anybody); kInternal: the event loop failed.
  virtual Status Run() = 0;

  /// Begins the drain: no new work, /ready says 503, running streams finish, then Run returns.
  virtual void Stop() = 0;
  /// Run returns at once; open streams are cut.
  virtual void StopNow() = 0;
};

}  // namespace ft::server
