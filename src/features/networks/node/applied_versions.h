// AppliedVersions: up to which resourceVersion the fabric of this host has applied the removals it
// saw: of its own attachments, and of other hosts' attachments in each virtual network. A released
// address is given out again only after every node concerned has reported that (node_reporter.h).
//
// Pure. Each informer has its own count, because informers are not in step with one another.
// Version r is applied when nothing that the informer showed up to r has left something outdated in
// the fabric. Versions are applied in the order in which they are seen; one that waits for the
// fabric holds up the later ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/base/string_map.h"
#include "foundation/runtime/time.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

class AppliedVersions {
 public:
  struct Report {
    // The version applied of this node's own attachments.
    std::optional<std::uint64_t> own;
    // The version applied in each network; nullopt removes the entry of a network that was left.
    std::map<fabric::Vni, std::optional<std::uint64_t>> networks;
    // The version applied in every network without an entry.
    std::optional<std::uint64_t> elsewhere;
    bool empty() const { return !own && networks.empty() && !elsewhere; }
    bool operator==(const Report&) const = default;
  };

  // How long the entry of a network stays in the report after the network was left, so that the
  // server, which may wait for it, sees it.
  static constexpr Duration kKeepAfterLeaving = 60s;

  // At `version` the attachments `ids` changed or were deleted; the fabric may still carry their
  // old state. kOwn: this node's own attachments, or those of a network that it left.
  static constexpr fabric::Vni kOwn = 0;
  void changed(fabric::Vni vni, std::uint64_t version, const std::vector<std::string>& ids);
  // The fabric carries what was known of `id` at `version`.
  void settled(const std::string& id, std::uint64_t version);
  bool waits_for(const std::string& id) const { return waiting_.contains(id); }
  std::vector<std::string> waiting() const;

  // A network became relevant, or ceased to be.
  void entered(fabric::Vni vni);
  void left(fabric::Vni vni);

  // This node's own attachments are known completely as of `version`: in networks without an entry
  // the fabric carries nothing older.
  void surveyed(std::uint64_t version) { surveyed_ = std::max(surveyed_, version); }
  // The same, but reported only together with the removal of an entry: otherwise the server would
  // fall back to a version from long before.
  void known(std::uint64_t version) { known_ = std::max(known_, version); }
  // The NodeReport was lost: everything is reported again.
  void start_over();

  // What is to be reported now; empty: nothing.
  Report report(Instant now);
  // The API has accepted the report.
  void reported(const Report& report, Instant now);
  // When report() will have something if nothing else happens.
  std::optional<Instant> due() const;

 private:
  struct Progress {
    std::map<std::uint64_t, std::set<std::string>> open;  // by version: what the fabric still has
    std::uint64_t applied = 0;
    std::uint64_t reported = 0;
    bool left = false;
    Instant forget{};  // once left and reported
  };
  static void advance(Progress& progress);
  Progress& progress_of(fabric::Vni vni) { return vni == kOwn ? own_ : networks_[vni]; }
  // False while a relevant network has no entry yet: the server would take it for one in which
  // nothing is carried.
  bool all_told() const;

  Progress own_;
  std::map<fabric::Vni, Progress> networks_;
  std::uint64_t surveyed_ = 0;
  std::uint64_t known_ = 0;
  std::uint64_t reported_elsewhere_ = 0;
  StringMap<std::set<fabric::Vni>> waiting_;
};

}  // namespace fairlead::networks
