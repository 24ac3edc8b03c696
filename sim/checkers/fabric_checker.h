// FabricChecker: promise 4, judged on the store and on the data planes of all hosts.
//
//   at every instant  no host forwards the address of one attachment while the store says that it
//                     belongs to another: looked at after every revision and after every change of
//                     a data plane
//   at rest           each host's data plane is exactly what the objects ask for, and the statuses
//                     say what is there
//
//   always            no agent brings anything into a data plane before its host has a NodeReport:
//                     nobody would wait for it
//
// A host whose NodeReport was deleted, and not yet made again when an address was released, had no
// say in when it is used again: that is what deleting a Node means. Nothing else excuses a host:
// one that never had a report may carry nothing, and a report goes only with its Node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/store/store.h"
#include "features/networks/kinds/network_attachment.h"
#include "foundation/base/ip.h"
#include "node/fabric/fabric.h"
#include "sim/checkers/checkers.h"
#include "sim/models/sim_fabric.h"

namespace fairlead::sim {

class FabricChecker {
 public:
  using Attachments = std::map<std::string, networks::NetworkAttachment>;  // by namespace/name

  // The addresses of hosts, by node. Planes are added before anything happens.
  void add_host(HostPlane& plane, Ip address);

  // All changes of whole revisions.
  void take_in(const store::ChangeBatch& batch);
  // A plane changed: what it carries for `station`'s id is new.
  void carried(const HostPlane& plane, const fabric::Station& station);

  // What a host should carry, by the objects as they are.
  fabric::Desired plan(const std::string& node) const;
  // What is not as it should be now that all is quiet.
  Violations rest() const;

  const std::string& violation() const { return violation_; }
  const Attachments& attachments() const { return attachments_; }
  std::size_t reused() const { return reused_; }
  std::size_t reused_after_carrying() const { return reused_after_carrying_; }
  std::size_t excused() const { return excused_; }

 private:
  using Address = std::pair<fabric::Vni, Ip>;
  struct Host {
    HostPlane* plane;
    Ip address;
    std::set<std::pair<Address, std::string>> carried;  // ever, with whose it was
  };
  // What is known of a host's NodeReport and Node.
  struct Report {
    std::optional<store::Revision> since;      // it exists, and since when
    std::string owner;                         // UID of the Node that it goes with
    std::string node;                          // UID of the Node that there is
    std::optional<std::uint32_t> erased_boot;  // the machine's start in which it was last deleted
  };
  void take_in(const store::Change& change);
  void take_in_report(const std::string& node, const store::Change& change);
  void take_in_node(const std::string& node, const store::Change& change);
  bool may_carry(const HostPlane& plane) const;
  bool excused(const HostPlane& plane, std::optional<store::Revision> released) const;
  void violate(std::string what);
  void own(const std::string& uid, const networks::NetworkAttachmentStatus& status,
           store::Revision now);
  void disown(const std::string& uid, store::Revision now);
  void judge(const HostPlane& plane, const fabric::Station& station);
  void check_status(const networks::NetworkAttachment& attachment, const Host& host,
                    Violations& violations) const;

  std::map<std::string, Host> hosts_;
  Attachments attachments_;
  std::map<Address, std::string> owners_;
  std::map<Address, std::string> last_owners_;
  std::map<std::string, std::set<Address>> owned_;  // by uid
  std::map<std::pair<Address, std::string>, store::Revision> released_;
  std::map<std::string, Report> reports_;
  std::string violation_;
  std::size_t reused_ = 0;
  std::size_t reused_after_carrying_ = 0;
  std::size_t excused_ = 0;
};

}  // namespace fairlead::sim
