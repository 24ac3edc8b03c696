#include "foundation/http/server_metrics.h"

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
  registry.gauge_of("fairlead_http_stranger_connections",
                    "Open connections on which nobody has proven who they are.",
                    figure(&ServerCounters::strangers_open));
  registry.gauge_of("fairlead_http_request_bytes",
                    "Memory that heads, bodies, unread answers and certificates hold.",
                    [&server] { return static_cast<double>(server.request_bytes()); });
  registry.counters_of(
      "fairlead_http_refused_total", "Connections and requests not served.", {"reason"}, [&server] {
        metrics::Registry::Readings readings;
        for (std::size_t i = 0; i < kRefusals; ++i)
          readings.emplace_back(
              metrics::LabelValues{std::string(refusal_name(static_cast<Refusal>(i)))},
              static_cast<double>(server.counters().refused[i]));
        return readings;
      });
  registry.counter_of("fairlead_http_protocol_errors_total",
                      "Malformed requests, floods and other breaches of the protocol.",
                      figure(&ServerCounters::protocol_errors));
}

}  // namespace fairlead::http
