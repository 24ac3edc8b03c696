#include "features/networks/ipam/network_index.h"

#include <algorithm>
#include <utility>

namespace fairlead::ipam {
namespace {

const std::set<std::string> kNone;

}  // namespace

const SubnetFacts* NetworkIndex::subnet(std::string_view key) const {
  const auto found = subnet_by_key_.find(key);
  return found == subnet_by_key_.end() ? nullptr : &found->second;
}

const AttachmentFacts* NetworkIndex::attachment(std::string_view key) const {
  const auto found = attachment_by_key_.find(key);
  return found == attachment_by_key_.end() ? nullptr : &found->second;
}

std::vector<SubnetFacts> NetworkIndex::subnets_of(Vni vni) const {
  std::vector<SubnetFacts> subnets;
  const auto found = subnets_by_vni_.find(vni);
  if (found == subnets_by_vni_.end()) return subnets;
  for (const std::string& key : found->second) subnets.push_back(*subnet(key));
  return subnets;
}

std::size_t NetworkIndex::rejected_subnets() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      subnet_by_key_, [](const auto& entry) { return !entry.second.validated; }));
}

const std::set<std::string>& NetworkIndex::attachments_of_subnet(
    std::string_view subnet_key) const {
  const auto found = attachments_by_subnet_.find(subnet_key);
  return found == attachments_by_subnet_.end() ? kNone : found->second;
}

std::string NetworkIndex::node_of_owner(const LockFacts& lock) const {
  const AttachmentFacts* owner = attachment(lock.namespace_name + "/" + lock.owner_name);
  return owner && owner->uid == lock.owner ? owner->node : std::string();
}

std::set<std::string> NetworkIndex::nodes_of(Vni vni) const {
  std::set<std::string> nodes;
  if (const auto found = nodes_by_vni_.find(vni); found != nodes_by_vni_.end())
    for (const auto& [node, count] : found->second) nodes.insert(node);
  return nodes;
}

bool NetworkIndex::has_attachments(const std::string& node, Vni vni) const {
  const auto nodes = nodes_by_vni_.find(vni);
  return nodes != nodes_by_vni_.end() && nodes->second.contains(node);
}

std::optional<SubnetFacts> NetworkIndex::set_subnet(const std::string& key,
                                                    std::optional<SubnetFacts> now) {
  std::optional<SubnetFacts> before;
  if (auto node = subnet_by_key_.extract(key)) before = std::move(node.mapped());
  if (before) subnets_by_vni_[before->vni].erase(key);
  if (now) {
    subnets_by_vni_[now->vni].insert(key);
    subnet_by_key_.emplace(key, std::move(*now));
  }
  if (before && subnets_by_vni_[before->vni].empty()) subnets_by_vni_.erase(before->vni);
  return before;
}

std::optional<AttachmentFacts> NetworkIndex::set_attachment(const std::string& key,
                                                            std::optional<AttachmentFacts> now) {
  std::optional<AttachmentFacts> before;
  if (const auto known = attachment_by_key_.find(key); known != attachment_by_key_.end()) {
    before = std::move(known->second);
    remove(*before);
    if (!now) attachment_by_key_.erase(known);
  }
  if (now) {
    add(*now);
    attachment_by_key_.insert_or_assign(key, std::move(*now));
  }
  return before;
}

void NetworkIndex::add(const AttachmentFacts& attachment) {
  attachments_by_subnet_[attachment.subnet_key()].insert(attachment.key());
  if (attachment.vni != 0) ++nodes_by_vni_[attachment.vni][attachment.node];
}

void NetworkIndex::remove(const AttachmentFacts& attachment) {
  const auto of_subnet = attachments_by_subnet_.find(attachment.subnet_key());
  of_subnet->second.erase(attachment.key());
  if (of_subnet->second.empty()) attachments_by_subnet_.erase(of_subnet);
  if (attachment.vni == 0) return;
  const auto nodes = nodes_by_vni_.find(attachment.vni);
  const auto node = nodes->second.find(attachment.node);
  if (--node->second == 0) nodes->second.erase(node);
  if (nodes->second.empty()) nodes_by_vni_.erase(nodes);
}

}  // namespace fairlead::ipam
