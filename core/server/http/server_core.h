// ServerCore: what the listener and all its sessions share. I/O thread only, but for `state`.
#pragma once

#include <functional>
#include <utility>

#include "core/server/dispatcher.h"
#include "core/server/http/asio.h"
#include "core/server/metrics.h"
#include "core/server/server.h"
#include "core/server/server_state.h"

namespace ft::server {

struct ServerCore {
  explicit ServerCore(ServerOptions server_options)
      : options(std::move(server_options)),
        dispatcher(&metrics),
        workers(static_cast<size_t>(std::max(options.prepare_threads, 1))) {}

  const ServerOptions options;
  ServerState state;
  Metrics metrics;
  Dispatcher dispatcher;
  int num_connections = 0;
  int num_busy = 0;  ///< requests read and not yet answered, probes left out
  bool is_draining = false;
  std::function<void()> on_idle;  ///< called when num_busy has become 0
  asio::io_context io{1};
  asio::thread_pool workers;
};

/// Serves one connection until it ends. The core outlives it.
asio::awaitable<void> RunSession(ServerCore* core, tcp::socket socket);

}  // namespace ft::server
