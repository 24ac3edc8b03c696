// Fabric: what carries virtual networks on one host. The agent says what the host should carry
// (Desired); a fabric observes what exists, plans the smallest list of changes by a pure function
// of its own, and applies it. Implementations: ovs/ (Open vSwitch), vxlan/ (kernel only) and
// LogFabric.
//
// What every fabric promises, seen from outside:
//   1. A local station's Linux interface has the name and MAC given and the fabric's MTU (the
//      underlay's, less the tunnel header). It gets no address and is not set up: that is the
//      guest's, who may move it into a network namespace and back. What is moved stays connected.
//   2. A station reaches exactly the stations of its VNI, on this host and on others, by unicast.
//      ARP and neighbour solicitation are answered on this host from what is desired; no broadcast,
//      multicast or unknown unicast leaves it.
//   3. A packet of a local station whose source MAC, ARP sender, IPv4 or IPv6 source is not its own
//      is dropped; so is a packet from a tunnel whose source is not a station behind that host or
//      not that station's address. ARP and neighbour discovery never pass from station to station:
//      only this host answers them.
//   4. Traffic never depends on the agent: it goes on when the agent is stopped, killed or cut off.
//   5. A new process adopts what an earlier one made, without cutting traffic. Interfaces and flows
//      that are not Fairlead's are left alone.
//
// All calls run on the loop of the Runtime that the fabric was made with, one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "foundation/base/string_map.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/task.h"

namespace fairlead::fabric {

using Vni = std::uint32_t;

// One attachment, as one host's fabric sees it.
struct Station {
  std::string id;  // the attachment's UID
  Vni vni = 0;
  Mac mac;
  std::vector<Ip> addresses;  // an IPv4 address, an IPv6 address or both, in this order
  std::string interface;      // local: the Linux interface to make here; empty: remote
  Ip host;                    // remote: the tunnel end that it is behind

  bool local() const { return !interface.empty(); }
  bool operator==(const Station&) const = default;
};

// Everything the host should carry, by id.
// REQUIRES: within a VNI no address and no MAC twice (the agent sees to it: of two claimants it
// desires none).
using Desired = StringMap<Station>;

// Fails with invalid if the station is said to be behind something that cannot be another host.
Result<> check_host(const Station& station);

// The ids in order: what does not fit is the same every time.
std::vector<std::string> ids_of(const Desired& desired);

// What became of one station.
struct Outcome {
  std::string id;
  Result<> result;
  bool made_interface = false;  // a local interface that was not there before
};

// What an audit found to differ from what was desired, and mended.
struct Audit {
  std::size_t missing = 0;     // stations, or parts of them
  std::size_t unexpected = 0;  // of ours, but not desired
  std::vector<Outcome> failed;
  std::vector<std::string> made;  // stations whose interface was not there, and is now
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual std::string_view name() const = 0;

  // Prepares the host (switch, tunnel end) and looks at what an earlier process left. Nothing that
  // carries traffic is touched. Called again after a failure.
  virtual Task<Result<>> open() = 0;

  // The local stations that exist completely, after open(). What cannot be known any more is empty.
  virtual std::vector<Station> local_stations() const = 0;

  // Brings the stations with these ids to what `desired` says of them; those it does not have are
  // removed. One outcome for each id, in order. A failure of one does not hold up the others.
  virtual Task<std::vector<Outcome>> apply(const Desired& desired,
                                           std::span<const std::string> ids) = 0;

  // Observes everything anew and mends whatever differs from `desired`, also what is too much.
  virtual Task<Result<Audit>> audit(const Desired& desired) = 0;

  // Notified when the fabric saw something that calls for an audit: a switch that restarted, an
  // interface that somebody removed.
  virtual runtime::Signal& disturbed() = 0;

  // Of the interfaces it makes.
  virtual std::uint32_t mtu() const = 0;
};

}  // namespace fairlead::fabric
