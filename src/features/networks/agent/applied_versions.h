// AppliedVersions: up to which version this host has carried out what it was told: about its own
// attachments, and about those of other hosts in each virtual network. An address that was released
// may be given out again only after every node concerned has stopped carrying it; this is what a
// node says about it (see node_report.h).
//
// Pure. Each informer has a count of its own, since they are not in step with one another: a
// version r is applied when everything that it showed up to r no longer leaves anything outdated in
// the fabric. Versions are told in the order in which they are seen, and one that waits for the
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

namespace fairlead::agent {

class AppliedVersions {
 public:
  struct Report {
    // The version applied of what runs on this node itself.
    std::optional<std::uint64_t> own;
    // The version applied, or nothing for a network that was left for good.
    std::map<fabric::Vni, std::optional<std::uint64_t>> networks;
    // The version applied in every network of which nothing was told, or that was left for good.
    std::optional<std::uint64_t> elsewhere;
    bool empty() const { return !own && networks.empty() && !elsewhere; }
    bool operator==(const Report&) const = default;
  };

  // How long an entry stays after the network was left, so that who waits for it sees it.
  static constexpr Duration kKeepAfterLeaving = 60s;

  // At `version` these stopped being what they were; the fabric may still carry them. kOwn: of this
  // node's own attachments, or by their loss of a network.
  static constexpr fabric::Vni kOwn = 0;
  void changed(fabric::Vni vni, std::uint64_t version, const std::vector<std::string>& ids);
  // The fabric has what was known of `id` at `version`.
  void settled(const std::string& id, std::uint64_t version);
  bool waits_for(const std::string& id) const { return waiting_.contains(id); }
  std::vector<std::string> waiting() const;

  // A network became relevant, or ceased to be.
  void entered(fabric::Vni vni);
  void left(fabric::Vni vni);

  // All that runs on this node is known as of `version`: of networks that were neither entered nor
  // changed here, the fabric has nothing older.
  void surveyed(std::uint64_t version) { surveyed_ = std::max(surveyed_, version); }
  // The same, but told only when there is reason to: together with the end of an entry, so that who
  // looks for it does not fall back to what was true long before.
  void known(std::uint64_t version) { known_ = std::max(known_, version); }
  // What was received is lost: everything is to be reported again.
  void start_over();

  // What there is to report now; empty: nothing.
  Report report(Instant now);
  // It was received.
  void reported(const Report& report, Instant now);
  // When there will be something without anything else happening.
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
  // False while a network has no entry: it would be taken for one in which nothing is carried.
  bool all_told() const;

  Progress own_;
  std::map<fabric::Vni, Progress> networks_;
  std::uint64_t surveyed_ = 0;
  std::uint64_t known_ = 0;
  std::uint64_t reported_elsewhere_ = 0;
  StringMap<std::set<fabric::Vni>> waiting_;
};

}  // namespace fairlead::agent
