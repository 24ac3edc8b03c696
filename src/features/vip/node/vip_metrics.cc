#include "features/vip/node/vip_metrics.h"

#include <algorithm>
#include <utility>

namespace fairlead::vip {
namespace {

constexpr double kMicrosecond = 1e-6;

bool is_offered(const VipReport& vip) { return !vip.interface.empty(); }
// One that is neither offered here nor held anywhere is a thing of the past.
bool is_known(const VipReport& vip) { return is_offered(vip) || !vip.holder.empty(); }

}  // namespace

VipMetrics::VipMetrics(metrics::Registry& registry, std::function<const Report&()> report)
    : engine_starts(registry.counter("fairlead_vip_engine_starts_total",
                                     "Engines of virtual IPs that began to work on this node.")),
      guard_starts(registry.counter("fairlead_vip_guard_starts_total",
                                    "Guards of virtual IPs that this agent started.")),
      passages_(registry.counters("fairlead_vip_passages_total",
                                  "Virtual IPs that this node took (held), gave up (released) or "
                                  "lost because no majority renewed them (lost); first packets "
                                  "that came after it took one (reached).",
                                  {"vip", "what"})),
      phases_(registry.histograms(
          "fairlead_vip_takeover_seconds",
          "How long this node took to take a virtual IP, by phase: elect (from the assignment to "
          "the majority's grant), announce (address, fence and first announcement), reach (from "
          "then to the first packet of a neighbour).",
          {"phase"}, {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5})) {
  registry.gauges_of("fairlead_vip_held", "1 while this node answers for the virtual IP.", {"vip"},
                     [report] {
                       metrics::Registry::Readings readings;
                       for (const VipReport& vip : report().vips)
                         if (is_known(vip))
                           readings.push_back({{vip.address}, vip.here ? 1.0 : 0.0});
                       return readings;
                     });
  registry.gauges_of("fairlead_vip_has_holder",
                     "1 while some node is to hold the virtual IP, as far as this node knows.",
                     {"vip"}, [report] {
                       metrics::Registry::Readings readings;
                       for (const VipReport& vip : report().vips)
                         if (is_known(vip))
                           readings.push_back({{vip.address}, vip.holder.empty() ? 0.0 : 1.0});
                       return readings;
                     });
  registry.gauges_of("fairlead_vip_conflicts",
                     "Claims of other machines to a virtual IP since this node holds it.", {"vip"},
                     [report] {
                       metrics::Registry::Readings readings;
                       for (const VipReport& vip : report().vips)
                         readings.push_back({{vip.address}, static_cast<double>(vip.conflicts)});
                       return readings;
                     });
  registry.gauges_of("fairlead_vip_address_put_back",
                     "How often the address of a virtual IP was removed by others since this node "
                     "holds it, and put back.",
                     {"vip"}, [report] {
                       metrics::Registry::Readings readings;
                       for (const VipReport& vip : report().vips)
                         readings.push_back({{vip.address}, static_cast<double>(vip.put_back)});
                       return readings;
                     });
  registry.gauges_of("fairlead_vip_fenced",
                     "1 while this node's kernel silences it by itself when its time is over; only "
                     "of nodes that offer virtual IPs.",
                     {}, [report] {
                       metrics::Registry::Readings readings;
                       if (std::ranges::any_of(report().vips, is_offered))
                         readings.push_back({{}, is_fenced(report()) ? 1.0 : 0.0});
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
  if (passage.what == "reached")
    phases_.with({"reach"}).observe(static_cast<double>(passage.reach) * kMicrosecond);
  if (passage.what != "held") return;
  phases_.with({"elect"}).observe(static_cast<double>(passage.elect) * kMicrosecond);
  phases_.with({"announce"}).observe(static_cast<double>(passage.announce) * kMicrosecond);
}

}  // namespace fairlead::vip
