// NetworkChecker: promise 1, judged on the store itself after every revision. No address is owned
// twice in one virtual network, every assigned address is locked by its owner, validated subnets do
// not conflict, a released address is not free while a node that it waits for may know it;
// and, at rest, nothing leaks and nobody waits for what is there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/store/store.h"
#include "features/networks/ipam/subnet_rules.h"
#include "features/networks/kinds/ip_lock.h"
#include "features/networks/kinds/network_attachment.h"
#include "features/networks/kinds/subnet.h"
#include "foundation/base/result.h"

namespace fairlead::sim {

class NetworkChecker {
 public:
  // All changes of one or more whole revisions. The first violation stays.
  void take_in(const store::ChangeBatch& batch);
  // When all is quiet and every node has answered.
  void rest();

  const std::string& violation() const { return violation_; }
  std::size_t assignments() const { return assignments_; }
  std::size_t releases() const { return releases_; }

 private:
  struct Lock {
    networks::LockedAddress address;
    std::string uid;
    std::string owner;
    std::string node;  // of the attachment that released it
    std::set<std::string> awaits;
    store::Revision released = 0;
  };
  void take_in(const store::Change& change);
  void freed(const Lock& lock, store::Revision now);
  void count_attachments(store::Revision now);
  bool carried_between(const std::string& node, std::uint32_t vni, store::Revision from,
                       store::Revision to) const;
  void check_addresses();
  void check_subnets();
  std::string other_holder(const networks::Subnet& subnet) const;
  void violated(std::string what);

  std::map<std::string, networks::Subnet> subnets_;
  std::map<std::string, networks::NetworkAttachment> attachments_;
  std::map<std::string, Lock> locks_;
  // Node → VNI, or what else it speaks of → revision.
  std::map<std::string, std::map<std::string, store::Revision>> applied_;
  std::map<std::string, store::Revision> report_since_;  // of NodeReports that exist
  // Node and VNI → from which revision on it has how many attachments there.
  std::map<std::pair<std::string, std::uint32_t>, std::map<store::Revision, std::size_t>> carried_;
  std::string violation_;
  std::size_t assignments_ = 0;
  std::size_t releases_ = 0;
};

}  // namespace fairlead::sim
