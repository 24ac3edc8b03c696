// VxlanHost: one host's part of the kernel-only fabric, carried out. It keeps what it knows of the
// kernel's state, asks plan.h what to change, and changes it. VxlanFabric runs it off the loop.
//
// Calls block and come from one thread at a time, but for mtu().
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "node/fabric/fabric.h"
#include "node/fabric/link_watch.h"
#include "node/fabric/links.h"
#include "node/fabric/vxlan/datapath_loader.h"
#include "node/fabric/vxlan/plan.h"

namespace fairlead::fabric::vxlan {

struct VxlanOptions {
  Ip local;                        // this host's tunnel end: an address of one of its interfaces
  std::uint16_t port = 4789;       // UDP, of every host
  std::uint32_t underlay_mtu = 0;  // 0: that of the interface which has `local`
  // The VXLAN device, and what tells this fabric's interfaces from those of another on this host.
  std::string device = "fairlead-vxlan";
  Datapath::Sizes sizes;
};

class VxlanHost {
 public:
  explicit VxlanHost(VxlanOptions options) : options_(std::move(options)) {}

  Result<> open();
  std::vector<Station> local_stations() const;
  // `wanted`: the stations among `ids` that should be there.
  std::vector<Outcome> apply(const Desired& wanted, std::span<const std::string> ids);

  // An audit takes what is desired in parts, so that nobody has to hold a copy of all of it:
  //   begin_audit(), fill() with every part, remove_surplus(), mend() with every part, end_audit().
  struct Auditing {
    Audit found;
    std::vector<std::uint32_t> leaving;  // interfaces that go at the end
    std::set<std::string> missing;       // stations of which something was missing
    std::vector<Owner> known;            // of all that is desired
  };
  Result<Auditing> begin_audit();
  void fill(const Desired& part, Auditing& auditing);
  void remove_surplus(Auditing& auditing);
  void mend(const Desired& part, std::span<const std::string> ids, Auditing& auditing);
  Result<Audit> end_audit(Auditing& auditing);

  Result<Counters> counters() const;
  // Removes everything that is this fabric's. open() begins anew.
  Result<> dismantle();

  std::uint32_t mtu() const { return mtu_; }
  // After open().
  std::shared_ptr<LinkWatch> watch() const { return watch_; }

 private:
  Result<> observe();
  Result<> observe_ends();
  Result<> observe_mtu();
  Result<Link> ensure_device();
  Result<bool> ensure_tunnel();
  bool complete(const End& end) const;

  Outcome bring(const Desired& wanted, const std::string& id, Extent extent,
                std::vector<std::uint32_t>& leaving, bool& changed);
  Result<> check(const Station& station) const;
  Result<> carry(const EntryPlan& plan);
  Result<> bring_end(const Station& station, const EndPlan& plan, const EntryPlan& entries);
  Result<> make_end(const Station& station);
  Result<> resize(End& end, const EndPlan& plan);
  Result<> remove_links(std::span<const std::uint32_t> ifindexes);

  const VxlanOptions options_;
  std::atomic<std::uint32_t> mtu_ = 0;
  std::optional<Links> links_;
  std::optional<Datapath> datapath_;
  std::shared_ptr<LinkWatch> watch_;
  std::uint32_t device_ = 0;                      // ifindex
  std::map<std::string, End, std::less<>> ends_;  // by station id
  std::vector<std::uint32_t> half_made_;          // host ends that say nothing of themselves
  Holdings holdings_;
};

}  // namespace fairlead::fabric::vxlan
