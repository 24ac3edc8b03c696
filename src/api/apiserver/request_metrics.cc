#include "api/apiserver/request_metrics.h"

#include <algorithm>
#include <string>

namespace fairlead::apiserver {
namespace {

// Verbs are a closed list: a label never holds what a stranger sent.
constexpr std::string_view kVerbs[] = {"get",    "list",  "watch",  "create",
                                       "update", "patch", "delete", "deletecollection",
                                       "post",   "put",   "head",   "other"};

std::string_view known_verb(std::string_view verb) {
  const auto at = std::ranges::find(kVerbs, verb);
  return at == std::end(kVerbs) ? kVerbs[std::size(kVerbs) - 1] : *at;
}

}  // namespace

RequestMetrics::RequestMetrics(metrics::Registry& registry)
    : counts_(registry.counters("fairlead_apiserver_requests_total",
                                "Requests answered, by verb, resource and HTTP status.",
                                {"verb", "resource", "subresource", "code"})),
      seconds_(
          registry.histograms("fairlead_apiserver_request_duration_seconds",
                              "Time from a request's last byte to its answer, watches excluded.",
                              {"verb", "resource", "subresource"}, metrics::latency_bounds())),
      rejected_(registry.counters("fairlead_apiserver_requests_rejected_total",
                                  "Requests refused because of overload.", {"reason"})) {
  // There from the start: a rate sees the first one.
  for (const char* reason :
       {"reads", "writes", "watches", "user_reads", "user_writes", "user_watches", "node_writes"})
    rejected_.with({reason});
}

void RequestMetrics::record(const resource::Kind* kind, std::string_view verb,
                            std::string_view subresource, int code, Duration took) {
  verb = known_verb(verb);
  const bool status = subresource == "status";
  const auto [entry, is_new] = known_.try_emplace(Key(kind, verb, status, code));
  if (is_new) {
    const std::string resource = kind ? kind->qualified() : "none";
    const std::string sub = status ? "status" : "";
    entry->second.count = &counts_.with({std::string(verb), resource, sub, std::to_string(code)});
    entry->second.seconds =
        verb == "watch" ? nullptr : &seconds_.with({std::string(verb), resource, sub});
  }
  entry->second.count->add();
  if (entry->second.seconds)
    entry->second.seconds->observe(std::chrono::duration<double>(took).count());
}

}  // namespace fairlead::apiserver
