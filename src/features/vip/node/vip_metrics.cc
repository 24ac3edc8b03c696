#include "features/vip/node/vip_metrics.h"

#include <algorithm>
#include <utility>

namespace fairlead::vip {
namespace {

constexpr double kMicrosecond = 1e-6;

}  // namespace

VipMetrics::VipMetrics(metrics::Registry& registry, std::function<const Report&()> report)
    : engine_starts(registry.counter("fairlead_vip_engine_starts_total",
                                     "Engines of virtual IPs that began to work on this node.")),
      guard_starts(registry.counter("fairlead_vip_guard_starts_total",
                                    "Guards of virtual IPs that this agent started.")),
      passages_(registry.counters("fairlead_vip_passages_total",
                                  "Virtual IPs that this node took (held), gave up (released) or "
                                  "lost because no majority renewed them (lost).",
                                  {"vip", "what"})),
      phases_(registry.histograms(
          "fairlead_vip_takeover_seconds",
          "How long this node took to take a virtual IP, by phase: elect (from the assignment to "
          "the majority's grant), announce (address, fence and first announcement).",
          {"phase"}, {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5})) {
  registry.gauges_of("fairlead_vip_held", "1 while this node answers for the virtual IP.", {"vip"},
                     [report] {
                       metrics::Registry::Readings readings;
                       for (const VipReport& vip : report().vips)
                         readings.push_back({{vip.address}, vip.here ? 1.0 : 0.0});
                       return readings;
                     });
  registry.gauges_of("fairlead_vip_has_holder",
                     "1 while some node is to hold the virtual IP, as far as this node knows.",
                     {"vip"}, [report] {
                       metrics::Registry::Readings readings;
                       for (const VipReport& vip : report().vips)
                         readings.push_back({{vip.address}, vip.holder.empty() ? 0.0 : 1.0});
                       return readings;
                     });
  registry.gauge_of("fairlead_vip_leads", "1 while this node assigns the virtual IPs.", [report] {
    return !report().leader.empty() && report().leader == report().node ? 1.0 : 0.0;
  });
  registry.gauge_of("fairlead_vip_has_leader", "1 while this node knows who assigns virtual IPs.",
                    [report] { return report().leader.empty() ? 0.0 : 1.0; });
  registry.gauge_of(
      "fairlead_vip_peers_alive", "Other members of the election that this node hears.", [report] {
        return static_cast<double>(std::ranges::count_if(report().peers, &PeerReport::alive));
      });
  registry.gauge_of("fairlead_vip_members", "Members of the election, this node included.",
                    [report] { return static_cast<double>(report().members.size()); });
}

void VipMetrics::passed(const Passage& passage) {
  passages_.with({passage.vip, passage.what}).add();
  if (passage.what != "held") return;
  phases_.with({"elect"}).observe(static_cast<double>(passage.elect) * kMicrosecond);
  phases_.with({"announce"}).observe(static_cast<double>(passage.announce) * kMicrosecond);
}

}  // namespace fairlead::vip
