// `ft serve`: refuse or load, then serve until stopped.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "core/app/commands.h"
#include "core/app/serve_session.h"
#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/server/server.h"

namespace ft::app {
namespace {

server::ServerOptions MakeServerOptions(const Settings& settings, const ServeSession* session) {
  server::ServerOptions options;
  options.host = settings.String("host");
  options.port = static_cast<uint16_t>(settings.Int("port"));
  options.api_key = settings.String("api-key");
  options.served_model_name = session->served_name();
  options.version = FT_VERSION;
  options.cors_origins = settings.List("cors-origins");
  options.shutdown_timeout =
      std::chrono::milliseconds(static_cast<int64_t>(settings.Float("shutdown-timeout") * 1000));
  options.config_document = [session] { return session->ConfigDocument(); };
  options.plugins_document = [session] { return session->PluginsDocument(); };
  return options;
}

// Tells /health every time and the log once a second.
class ProgressReporter {
 public:
  explicit ProgressReporter(server::Server* server) : server_(server) {}

  void operator()(const LoadProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> elapsed = now - begin_;
    const auto rate = static_cast<uint64_t>(static_cast<double>(progress.bytes_done) /
                                            std::max(elapsed.count(), 1e-3));
    server_->SetLoadProgress({.phase = "weights",
                              .detail = std::string(progress.what),
                              .done_bytes = progress.bytes_done,
                              .total_bytes = progress.bytes_total,
                              .bytes_per_second = rate});
    if (now - last_ < std::chrono::seconds(1)) {
      return;
    }
    last_ = now;
    FT_LOG(kInfo, "loading: {} of {} at {}/s ({})", HumanBytes(progress.bytes_done),
           HumanBytes(progress.bytes_total), HumanBytes(rate), progress.what);
  }

 private:
  server::Server* server_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

void LogReady(const ServeSession& session, const server::Server& server) {
  for (const std::string& note : session.kv_plan().notes) {
    FT_LOG(kInfo, "{}", note);
  }
  FT_LOG(kInfo, "reasoning parser: {}", session.text().reasoning().reason);
  FT_LOG(kInfo, "tool call parser: {}", session.text().tool_calls().reason);
  FT_LOG(kInfo, "ft serves {} at {}: window {} tokens, cache {} tokens, loaded in {:.1f} s",
         session.served_name(), server.url(), session.kv_plan().max_model_len,
         session.kv_plan().pool_tokens, session.loaded().load_seconds);
}

Status Serve(const Settings& settings, const std::string& model) {
  ServeSession session(settings);
  FT_RETURN_IF_ERROR(session.Check(model));
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<server::Server> server,
                      server::Server::Bind(MakeServerOptions(settings, &session)));
  std::atomic<bool> is_loaded{false};
  Status load_status;
  std::thread loader([&] {
    ProgressReporter report(server.get());
    load_status = session.Load(server->output_sink(), [&](const LoadProgress& p) { report(p); });
    is_loaded.store(
        true);  // before Stop: Run returning then does not look like a stop while loading
    if (load_status.ok()) {
      LogReady(session, *server);
      server->SetModel({.engine = session.engine(),
                        .text = &session.text(),
                        .root = session.model_dir(),
                        .default_sampling = session.DefaultSampling(),
                        .default_template_kwargs = session.template_kwargs()});
    } else {
      server->SetFailed(load_status);
      server->Stop();
    }
  });
  const Status run_status = server->Run();
  if (run_status.code() == StatusCode::kCancelled) {
    // The second Ctrl-C: whoever sends it does not want to wait for a step to end.
    static_cast<void>(std::fflush(nullptr));
    std::_Exit(128 + SIGINT);
  }
  if (!is_loaded.load()) {
    // Asked to stop while weights are read: nothing is half written, so end without waiting for
    // them.
    FT_LOG(kInfo, "stopped while loading");
    static_cast<void>(std::fflush(nullptr));
    std::_Exit(run_status.ok() ? 0 : ExitCode(run_status.code()));
  }
  loader.join();
  session.StopEngine();  // it must not send to the server once that is gone
  return load_status.ok() ? run_status : load_status;
}

}  // namespace

int RunServe(const Invocation& invocation) {
  std::string model = invocation.settings.String("model");
  if (!invocation.positionals.empty()) {
    if (invocation.settings.Get("model").origin.starts_with("flag")) {
      return PrintError(InvalidArgument("the model is given twice: '{}' and --model {}",
                                        invocation.positionals[0], model));
    }
    model = invocation.positionals[0];
  }
  if (model.empty()) {
    return PrintError(InvalidArgument("which model? ft serve --model DIR"));
  }
  const Status status = Serve(invocation.settings, model);
  return status.ok() ? 0 : PrintError(status);
}

}  // namespace ft::app
