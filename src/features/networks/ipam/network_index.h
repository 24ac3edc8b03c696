// NetworkIndex: which subnets and attachments there are, by name and by virtual network, and which
// nodes have addresses in which network. One of the three NetworkRecords. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "features/networks/ipam/network_facts.h"
#include "foundation/base/key_map.h"

namespace fairlead::ipam {

class NetworkIndex {
 public:
  // By "namespace/name"; null: there is none.
  const SubnetFacts* subnet(std::string_view key) const;
  const AttachmentFacts* attachment(std::string_view key) const;

  std::vector<SubnetFacts> subnets_of(Vni vni) const;
  std::size_t rejected_subnets() const;  // those that are not validated
  const std::set<std::string>& attachments_of_subnet(std::string_view subnet_key) const;
  // The node of the attachment that owns the lock; empty: that attachment is not there.
  std::string node_of_owner(const LockFacts& lock) const;
  // Nodes with attachments that have an address in the network.
  std::set<std::string> nodes_of(Vni vni) const;
  bool has_attachments(const std::string& node, Vni vni) const;

  // From now on it is as `now` says (nullopt: it is gone). Returns what it was before.
  std::optional<SubnetFacts> set_subnet(const std::string& key, std::optional<SubnetFacts> now);
  std::optional<AttachmentFacts> set_attachment(const std::string& key,
                                                std::optional<AttachmentFacts> now);

 private:
  void add(const AttachmentFacts& attachment);
  void remove(const AttachmentFacts& attachment);

  KeyMap<SubnetFacts> subnet_by_key_;
  KeyMap<AttachmentFacts> attachment_by_key_;
  std::map<Vni, std::set<std::string>> subnets_by_vni_;
  KeyMap<std::set<std::string>> attachments_by_subnet_;
  std::map<Vni, std::map<std::string, std::size_t>> nodes_by_vni_;  // how many addresses each has
};

}  // namespace fairlead::ipam
