// The listener: opens the port, accepts, handles signals, and ends the event loop when the drain is
// over.
#include "core/server/server.h"

#include <csignal>
#include <optional>
#include <utility>

#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/server/http/access.h"
#include "core/server/http/server_core.h"

namespace ft::server {
namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};  // out of file descriptors: wait and retry
constexpr std::chrono::milliseconds kCutGrace{500};     // to write the last events of a cut stream

// Engine thread -> I/O thread, one message per step.
class PostingSink final : public OutputSink {
 public:
  explicit PostingSink(ServerCore* core) : core_(core) {}

  void OnOutputs(std::vector<RequestOutput> outputs) override {
    asio::post(core_->io, [core = core_, outputs = std::move(outputs)] {
      core->dispatcher.OnOutputs(outputs);
    });
  }

 private:
  ServerCore* core_;
};

std::string HostForUrl(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

class ServerImpl final : public Server {
 public:
  explicit ServerImpl(ServerOptions options)
      : core_(std::move(options)),
        sink_(&core_),
        acceptor_(core_.io),
        signals_(core_.io),
        drain_timer_(core_.io) {
    core_.on_idle = [this] { FinishIfDrained(); };
  }

  ~ServerImpl() override { core_.on_idle = nullptr; }  // frames that die with `io` must not call it

  ServerImpl(const ServerImpl&) = delete;
  ServerImpl& operator=(const ServerImpl&) = delete;

  Status Open() {
    const std::string& host = core_.options.host;
    error_code error;
    tcp::resolver resolver(core_.io);
    const auto found =
        resolver.resolve(host, std::to_string(core_.options.port), tcp::resolver::passive, error);
    if (error || found.empty()) {
      return InvalidArgument("--host {}: {}; use an address of this machine, e.g. 127.0.0.1", host,
                             error.message());
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    if (!endpoint.address().is_loopback() && core_.options.api_key.empty()) {
      return InvalidArgument(
          "--host {} can be reached from other machines: give an --api-key (or FT_API_KEY), or use "
          "127.0.0.1",
          host);
    }
    acceptor_.open(endpoint.protocol(), error);
    if (!error) {
      // A port that is listened on is refused all the same; one that was just closed is not.
      acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      acceptor_.bind(endpoint, error);
    }
    if (!error) {
      acceptor_.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error == asio::error::address_in_use) {
      return Unavailable("port {} on {} is taken by another program; choose one with --port",
                         core_.options.port, host);
    }
    if (error) {
      return Unavailable("cannot listen on {} port {}: {}", host, core_.options.port,
                         error.message());
    }
    port_ = acceptor_.local_endpoint().port();
    return Status();
  }

  uint16_t port() const override { return port_; }

  std::string url() const override {
    return fmt::format("http://{}:{}", HostForUrl(core_.options.host), port_);
  }

  OutputSink* output_sink() override { return &sink_; }

  void SetLoadProgress(LoadProgress progress) override {
    core_.state.SetProgress(std::move(progress));
  }

  void SetModel(ServedModel model) override {
    // The engine is known to the I/O thread before the first request can see the model.
    asio::post(core_.io, [this, model = std::move(model)] {
      core_.dispatcher.set_engine(model.engine);
      core_.state.SetModel(model);
      if (core_.is_draining) {
        model.engine->Drain();
      }
    });
  }

  void SetFailed(Status status) override { core_.state.SetFailed(status); }

  Status Run() override {
    if (core_.options.handle_signals) {
      error_code error;
      signals_.add(SIGINT, error);
      signals_.add(SIGTERM, error);
      asio::co_spawn(core_.io, WaitForSignals(), asio::detached);
    }
    asio::co_spawn(core_.io, Accept(), asio::detached);
    Status status;
    try {
      core_.io.run();
    } catch (const std::exception& error) {
      status = Internal("the server's event loop failed: {}", error.what());
    }
    // From here on nothing touches the engine or the model's text.
    core_.workers.stop();
    core_.workers.join();
    core_.dispatcher.EndAll(NotServing("the server ended"));
    core_.dispatcher.set_engine(/*engine=*/nullptr);
    if (status.ok() && is_cut_short_) {
      return Cancelled("stopped before running requests were done");
    }
    return status;
  }

  void Stop() override {
    asio::post(core_.io, [this] { Drain(); });
  }

  void StopNow() override {
    asio::post(core_.io, [this] { EndNow(); });
  }

 private:
  asio::awaitable<void> Accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(kAwait);
      if (error == asio::error::operation_aborted) {
        co_return;
      }
      if (error) {
        FT_LOG(kWarning, "cannot accept a connection: {}", error.message());
        asio::steady_timer pause(core_.io, kAcceptPause);
        co_await pause.async_wait(kAwait);
        continue;
      }
      if (core_.num_connections >= core_.options.limits.max_connections) {
        FT_LOG(kWarning, "refused a connection: {} are open already", core_.num_connections);
        continue;  // the socket closes here
      }
      asio::co_spawn(core_.io, RunSession(&core_, std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> WaitForSignals() {
    for (int count = 0;; ++count) {
      const auto [error, number] = co_await signals_.async_wait(kAwait);
      if (error) {
        co_return;
      }
      if (count > 0) {
        EndNow();
        co_return;
      }
      FT_LOG(
          kInfo, "{}: finishing {} running requests (at most {} s); once more ends at once",
          number == SIGINT ? "Ctrl-C" : "SIGTERM", core_.dispatcher.num_live(),
          std::chrono::duration_cast<std::chrono::seconds>(core_.options.shutdown_timeout).count());
      Drain();
    }
  }

  void Drain() {
    if (std::exchange(core_.is_draining, true)) {
      return;
    }
    core_.state.SetDraining();
    if (const ServedModel* model = core_.state.model()) {
      model->engine->Drain();
    }
    asio::co_spawn(core_.io, CutAfterTimeout(), asio::detached);
    FinishIfDrained();
  }

  // The listener stays open while requests run: probes are to see that the server drains.
  void FinishIfDrained() {
    if (core_.is_draining && core_.num_busy == 0) {
      core_.io.stop();
    }
  }

  asio::awaitable<void> CutAfterTimeout() {
    drain_timer_.expires_after(core_.options.shutdown_timeout);
    co_await drain_timer_.async_wait(kAwait);
    FT_LOG(kWarning, "cutting {} requests that still run", core_.dispatcher.num_live());
    core_.dispatcher.EndAll(NotServing("the server was shut down before the reply was done"));
    drain_timer_.expires_after(kCutGrace);
    co_await drain_timer_.async_wait(kAwait);
    core_.io.stop();
  }

  void EndNow() {
    is_cut_short_ = true;
    core_.io.stop();
  }

  ServerCore core_;
  PostingSink sink_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer drain_timer_;
  uint16_t port_ = 0;
  bool is_cut_short_ = false;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Bind(ServerOptions options) {
  try {
    auto server = std::make_unique<ServerImpl>(std::move(options));
    FT_RETURN_IF_ERROR(server->Open());
    return std::unique_ptr<Server>(std::move(server));
  } catch (const std::exception& error) {
    return Internal("cannot set up the server: {}", error.what());
  }
}

}  // namespace ft::server
