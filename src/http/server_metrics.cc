#include "http/server_metrics.h"

namespace fairlead::http {

void register_server_metrics(metrics::Registry& registry, const Server& server) {
  const auto figure = [&server](std::uint64_t ServerCounters::* which) {
    return [&server, which] { return static_cast<double>(server.counters().*which); };
  };
  registry.gauge_of("fairlead_http_connections", "Open connections.",
                    figure(&ServerCounters::connections_open));
  registry.counter_of("fairlead_http_connections_accepted_total", "Connections accepted.",
                      figure(&ServerCounters::connections_accepted));
  registry.counter_of("fairlead_http_connections_refused_total",
                      "Connections over the limit, or whose handshake failed.",
                      figure(&ServerCounters::connections_refused));
  registry.counter_of("fairlead_http_protocol_errors_total",
                      "Malformed requests, floods and other breaches of the protocol.",
                      figure(&ServerCounters::protocol_errors));
}

}  // namespace fairlead::http
