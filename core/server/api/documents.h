// The small JSON answers: health, models, stats. Cheap: built on the I/O thread.
#pragma once

#include <string_view>

#include "core/server/api/routes.h"
#include "core/server/http/http_types.h"
#include "core/server/metrics.h"
#include "core/server/server_state.h"

namespace ft::server {

/// GET /health, /livez: the process is alive, and how far it is. 503 only when it failed for good.
HttpResponse HealthDocument(const ServerOptions& options, const ServerState& state);

/// GET /ready, /readyz: 200 while new work is taken, else 503 and why.
HttpResponse ReadyDocument(const ServerState& state);

/// GET /v1/models, and /v1/models/ID with `id`.
HttpResponse ModelsDocument(const ServerOptions& options, const ServerState& state);
HttpResponse ModelDocument(const ServerOptions& options,
                           const ServerState& state,
                           std::string_view id);

/// GET /v1/stats.
HttpResponse StatsDocument(const ServerOptions& options,
                           const ServerState& state,
                           const Metrics& metrics);

HttpResponse JsonResponse(const json::Value& value, int status = 200);

/// The answer of every endpoint that is asked with GET.
HttpResponse GetDocument(const Route& route,
                         const ServerOptions& options,
                         const ServerState& state,
                         const Metrics& metrics);

}  // namespace ft::server
