#include "features/networks/ipam/network_index.h"

#include <algorithm>
#include <charconv>

#include "api/resource/networks/ip_lock.h"
#include "foundation/base/check.h"

namespace fairlead::ipam {
namespace {

using watchcache::Object;
using watchcache::ObjectRef;

const std::set<std::string> kNone;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<Cidr> block(std::string_view text) {
  const Result<Cidr> parsed = Cidr::parse(text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::size_t place_of_field(const resource::Kind& kind, std::string_view path) {
  for (std::size_t i = 0; i < kind.selectable.size(); ++i)
    if (kind.selectable[i] == path) return i;
  CHECK(false && "a field that is not selectable");
  return 0;
}

// The value of a selectable field, which the cache has at hand.
std::string_view field(const resource::Kind& kind, const Object& object, std::string_view path) {
  return object.fields[place_of_field(kind, path)];
}

}  // namespace

std::string write_time(const Json& object, std::string_view section) {
  const Json* writes = wire::find(object, "extendedMetadata.writes");
  if (!writes || !writes->is_array()) return {};
  for (const Json& write : writes->get_array())
    if (wire::find_string(write, "section") == section)
      return std::string(wire::find_string(write, "serverTime"));
  return {};
}

NetworkIndex::NetworkIndex(const resource::Catalog& catalog, watchcache::WatchCache& cache)
    : subnets_(catalog.find("fairlead.dev", "v1alpha1", "subnets")),
      attachments_(catalog.find("fairlead.dev", "v1alpha1", "networkattachments")),
      locks_(catalog.find("fairlead.dev", "v1alpha1", "iplocks")),
      reports_(catalog.find("fairlead.dev", "v1alpha1", "nodereports")),
      silent_since_field_(place_of_field(*reports_, "silentSince")),
      cache_(cache) {
  cache.on_reset([this] { rebuild(); });
  cache.observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    const ObjectRef& known = event.after() ? event.after() : event.before();
    if (&kind == subnets_) take_in_subnet(known->key(), event.after());
    if (&kind == attachments_) {
      note_change(known->uid, event.place());
      take_in_attachment(known->key(), event.after());
    }
    if (&kind == locks_) take_in_lock(known->key(), event.after());
  });
}

SubnetFacts NetworkIndex::subnet_facts(const Object& object) const {
  const Json json = object.decode();
  SubnetFacts facts{.namespace_name = object.namespace_name,
                    .name = object.name,
                    .uid = object.uid,
                    .vni = number(field(*subnets_, object, "spec.vni")),
                    .ipv4 = block(field(*subnets_, object, "spec.ipv4")),
                    .ipv6 = block(field(*subnets_, object, "spec.ipv6")),
                    .created_at = object.created_at,
                    .validated = false,
                    .errors = {}};
  const Json* validated = wire::find(json, "status.validated");
  facts.validated = validated && validated->is_bool() && validated->get_bool();
  facts.spec_written = write_time(json, "spec");
  const Json* errors = wire::find(json, "status.errors");
  if (errors && errors->is_array())
    for (const Json& error : errors->get_array())
      if (error.is_string()) facts.errors.emplace_back(error.get_string());
  return facts;
}

AttachmentFacts NetworkIndex::attachment_facts(const Object& object) const {
  const auto text = [&](std::string_view path) {
    return std::string(field(*attachments_, object, path));
  };
  return {.namespace_name = object.namespace_name,
          .name = object.name,
          .uid = object.uid,
          .node = text("spec.node"),
          .subnet = text("spec.subnet"),
          .fixed_ipv4 = text("spec.fixedIPv4"),
          .fixed_ipv6 = text("spec.fixedIPv6"),
          .ipv4 = text("status.ipv4"),
          .ipv6 = text("status.ipv6"),
          .vni = number(field(*attachments_, object, "status.addressVNI"))};
}

std::optional<LockFacts> NetworkIndex::lock_facts(const Object& object) const {
  const auto address = resource::parse_ip_lock_name(object.name);
  if (!address) return std::nullopt;
  LockFacts facts{.namespace_name = object.namespace_name,
                  .name = object.name,
                  .uid = object.uid,
                  .owner = object.owners.empty() ? std::string() : object.owners.front().uid,
                  .owner_name = object.owners.empty() ? std::string() : object.owners.front().name,
                  .vni = address->vni,
                  .ip = address->ip,
                  .place = object.place,
                  .deleting = object.deleting,
                  .idle = object.has_label(kIdleLabel),
                  .regained = object.has_label(kRegainedLabel),
                  .awaits = {}};
  if (!object.deleting) return facts;
  JsonArena memory(2 * object.json.size());
  const Json json = object.decode(&memory);
  const Json* annotations = wire::find(json, "metadata.annotations");
  const JsonObject* members = annotations ? annotations->if_object() : nullptr;
  const auto text = [members](std::string_view name) {
    const Json* value = members ? members->if_contains(name) : nullptr;
    return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
  };
  facts.awaits = split(text(kAwaitsAnnotation));
  facts.node = text(kNodeAnnotation);
  const std::string_view decided = text(kDecidedAnnotation);
  std::from_chars(decided.data(), decided.data() + decided.size(), facts.decided);
  facts.released = object.place.revision;
  if (const std::string_view released = text(kReleasedAnnotation); !released.empty())
    std::from_chars(released.data(), released.data() + released.size(), facts.released);
  facts.released_at = {facts.released, 0};
  return facts;
}

void NetworkIndex::take_in_subnet(const std::string& key, const ObjectRef& after) {
  std::optional<SubnetFacts> before;
  if (auto node = subnet_by_key_.extract(key)) before = std::move(node.mapped());
  if (before) subnets_by_vni_[before->vni].erase(key);
  const SubnetFacts* now = nullptr;
  if (after) {
    now = &subnet_by_key_.emplace(key, subnet_facts(*after)).first->second;
    subnets_by_vni_[now->vni].insert(key);
  }
  if (before && subnets_by_vni_[before->vni].empty()) subnets_by_vni_.erase(before->vni);
  for (const Listener& listener : listeners_)
    if (listener.subnet) listener.subnet(before ? &*before : nullptr, now);
}

void NetworkIndex::note_attachment(const AttachmentFacts& facts, int by) {
  const std::string subnet_key = facts.subnet_key();
  if (by > 0) {
    attachments_by_subnet_[subnet_key].insert(facts.key());
  } else if (auto& keys = attachments_by_subnet_[subnet_key];
             keys.erase(facts.key()) && keys.empty()) {
    attachments_by_subnet_.erase(subnet_key);
  }
  if (facts.vni == 0) return;
  auto& nodes = nodes_by_vni_[facts.vni];
  auto& count = nodes[facts.node];
  count += static_cast<std::size_t>(by);
  if (count == 0) nodes.erase(facts.node);
  if (nodes.empty()) nodes_by_vni_.erase(facts.vni);
}

// Only attachments without an IPv4 address have a MAC that is not implied by it.
void NetworkIndex::note_mac(const Object& object, Vni vni) {
  const Json json = object.decode();
  const Result<Mac> mac = Mac::parse(wire::find_string(json, "status.macAddress"));
  if (!mac) return;
  mac_of_.insert_or_assign(object.key(), std::pair(vni, *mac));
  ++macs_[{vni, *mac}];
}

void NetworkIndex::forget_mac(const std::string& attachment_key) {
  const auto known = mac_of_.find(attachment_key);
  if (known == mac_of_.end()) return;
  const auto entry = macs_.find(known->second);
  if (--entry->second == 0) macs_.erase(entry);
  mac_of_.erase(known);
}

void NetworkIndex::note_change(const std::string& attachment_uid, store::Place at) {
  if (std::exchange(changed_at_, at.revision) != at.revision) changed_.clear();
  changed_[attachment_uid] = at;
}

void NetworkIndex::take_in_attachment(const std::string& key, const ObjectRef& after) {
  std::optional<AttachmentFacts> facts;
  if (after) facts = attachment_facts(*after);
  const bool has_mac = facts && facts->vni != 0 && facts->ipv4.empty();
  const auto known = attachment_by_key_.find(key);
  // Most changes are of what is not kept here.
  if (known != attachment_by_key_.end() && facts == known->second && !has_mac) return;

  std::optional<AttachmentFacts> before;
  if (known != attachment_by_key_.end()) {
    before = std::move(known->second);
    note_attachment(*before, -1);
    forget_mac(key);
    if (!facts) attachment_by_key_.erase(known);
  }
  const AttachmentFacts* now = nullptr;
  if (facts) {
    now = &attachment_by_key_.insert_or_assign(key, std::move(*facts)).first->second;
    note_attachment(*now, 1);
    if (has_mac) note_mac(*after, now->vni);
  }
  for (const Listener& listener : listeners_)
    if (listener.attachment) listener.attachment(before ? &*before : nullptr, now);
}

void NetworkIndex::note_lock(const LockFacts& facts, bool present) {
  const std::string key = facts.key();
  const std::pair address(facts.vni, facts.ip);
  if (present) {
    locks_by_owner_[facts.owner].insert(key);
    locks_by_address_[address].insert(key);
    if (facts.deleting) {
      released_by_vni_[facts.vni][key] = &facts;
    } else {
      held_by_vni_[facts.vni][facts.place] = key;
      if (facts.idle) idle_by_vni_[facts.vni].insert(key);
      if (const auto released = released_by_vni_.find(facts.vni);
          released != released_by_vni_.end())
        released->second.erase(key);
    }
    taken(facts.vni, facts.ip.is_v4()).take(number_of(facts.ip));
    return;
  }
  const auto drop = [&key](auto& index, const auto& at) {
    const auto entry = index.find(at);
    if (entry == index.end()) return true;
    entry->second.erase(key);
    if (!entry->second.empty()) return false;
    index.erase(entry);
    return true;
  };
  drop(locks_by_owner_, facts.owner);
  drop(released_by_vni_, facts.vni);
  if (!drop(locks_by_address_, address)) return;
  const auto set = taken_.find({facts.vni, facts.ip.is_v4()});
  if (set == taken_.end()) return;
  set->second.release(number_of(facts.ip));
  if (set->second.empty()) taken_.erase(set);
}

// What is kept of one version of a lock.
void NetworkIndex::forget_version(const LockFacts& lock) {
  if (const auto held = held_by_vni_.find(lock.vni); held != held_by_vni_.end()) {
    held->second.erase(lock.place);
    if (held->second.empty()) held_by_vni_.erase(held);
  }
  if (const auto idle = idle_by_vni_.find(lock.vni); idle != idle_by_vni_.end()) {
    idle->second.erase(lock.key());
    if (idle->second.empty()) idle_by_vni_.erase(idle);
  }
}

void NetworkIndex::take_in_lock(const std::string& key, const ObjectRef& after) {
  std::optional<LockFacts> before;
  const auto known = lock_by_key_.find(key);
  if (known != lock_by_key_.end()) before = std::move(known->second);
  std::optional<LockFacts> facts = after ? lock_facts(*after) : std::nullopt;
  if (facts && facts->deleting) {
    if (before && before->released == facts->released) {
      facts->released_at = before->released_at;
    } else if (const auto change = changed_.find(facts->owner);
               change != changed_.end() && change->second.revision == facts->released) {
      facts->released_at = change->second;
    }
  }
  // A change of the same lock must not free its address in between.
  if (before) forget_version(*before);
  if (before && !facts) {
    note_lock(*before, false);
    auto& counts = locks_by_namespace_[before->vni];
    if (--counts[before->namespace_name] == 0) counts.erase(before->namespace_name);
    if (counts.empty()) locks_by_namespace_.erase(before->vni);
  }
  if (!before && facts) ++locks_by_namespace_[facts->vni][facts->namespace_name];
  const LockFacts* now = nullptr;
  if (facts) {
    now = &lock_by_key_.insert_or_assign(key, std::move(*facts)).first->second;
    note_lock(*now, true);
  } else if (before) {
    lock_by_key_.erase(known);
  }
  for (const Listener& listener : listeners_)
    if (listener.lock) listener.lock(before ? &*before : nullptr, now);
}

void NetworkIndex::rebuild() {
  subnet_by_key_.clear();
  attachment_by_key_.clear();
  lock_by_key_.clear();
  subnets_by_vni_.clear();
  attachments_by_subnet_.clear();
  locks_by_owner_.clear();
  locks_by_address_.clear();
  released_by_vni_.clear();
  idle_by_vni_.clear();
  held_by_vni_.clear();
  nodes_by_vni_.clear();
  locks_by_namespace_.clear();
  taken_.clear();
  macs_.clear();
  mac_of_.clear();
  changed_.clear();
  std::vector<Listener> listeners;
  listeners.swap(listeners_);  // they hear of the whole at once
  for (const auto& [key, object] : cache_.of(*subnets_).objects()) take_in_subnet(key, object);
  for (const auto& [key, object] : cache_.of(*locks_).objects()) take_in_lock(key, object);
  for (const auto& [key, object] : cache_.of(*attachments_).objects())
    take_in_attachment(key, object);
  listeners_.swap(listeners);
  for (const Listener& listener : listeners_)
    if (listener.reset) listener.reset();
}

const SubnetFacts* NetworkIndex::subnet(std::string_view key) const {
  const auto found = subnet_by_key_.find(key);
  return found == subnet_by_key_.end() ? nullptr : &found->second;
}

const AttachmentFacts* NetworkIndex::attachment(std::string_view key) const {
  const auto found = attachment_by_key_.find(key);
  return found == attachment_by_key_.end() ? nullptr : &found->second;
}

const LockFacts* NetworkIndex::lock(std::string_view key) const {
  const auto found = lock_by_key_.find(key);
  return found == lock_by_key_.end() ? nullptr : &found->second;
}

std::size_t NetworkIndex::rejected_subnets() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      subnet_by_key_, [](const auto& entry) { return !entry.second.validated; }));
}

std::vector<SubnetFacts> NetworkIndex::subnets_of(Vni vni) const {
  std::vector<SubnetFacts> subnets;
  const auto found = subnets_by_vni_.find(vni);
  if (found == subnets_by_vni_.end()) return subnets;
  for (const std::string& key : found->second) subnets.push_back(*subnet(key));
  return subnets;
}

const std::set<std::string>& NetworkIndex::attachments_of_subnet(
    std::string_view subnet_key) const {
  const auto found = attachments_by_subnet_.find(subnet_key);
  return found == attachments_by_subnet_.end() ? kNone : found->second;
}

const std::set<std::string>& NetworkIndex::locks_of(std::string_view attachment_uid) const {
  const auto found = locks_by_owner_.find(attachment_uid);
  return found == locks_by_owner_.end() ? kNone : found->second;
}

const LockFacts* NetworkIndex::lock_at(Vni vni, const Ip& ip) const {
  const auto found = locks_by_address_.find({vni, ip});
  return found == locks_by_address_.end() ? nullptr : lock(*found->second.begin());
}

std::set<std::string> NetworkIndex::namespaces_holding(Vni vni) const {
  std::set<std::string> namespaces;
  if (const auto found = locks_by_namespace_.find(vni); found != locks_by_namespace_.end())
    for (const auto& [name, count] : found->second) namespaces.insert(name);
  return namespaces;
}

bool NetworkIndex::holds_addresses(Vni vni, const std::string& namespace_name) const {
  const auto found = locks_by_namespace_.find(vni);
  return found != locks_by_namespace_.end() && found->second.contains(namespace_name);
}

std::string NetworkIndex::node_of(const LockFacts& lock) const {
  const AttachmentFacts* owner = attachment(lock.namespace_name + "/" + lock.owner_name);
  return owner && owner->uid == lock.owner ? owner->node : std::string();
}

std::set<std::string> NetworkIndex::carriers(Vni vni) const {
  std::set<std::string> nodes;
  if (const auto found = nodes_by_vni_.find(vni); found != nodes_by_vni_.end())
    for (const auto& [node, count] : found->second) nodes.insert(node);
  for (const LockFacts* lock : released(vni)) nodes.insert(lock->node);
  if (const auto idle = idle_by_vni_.find(vni); idle != idle_by_vni_.end())
    for (const std::string& key : idle->second) nodes.insert(node_of(*lock(key)));
  nodes.erase("");
  return nodes;
}

// Whoever came after `after` holds a lock that was made since, or has released one since: locks are
// written when they are made and when they are released. One that was written in between, because
// its attachment lost the address, may have been made at any time before: it counts.
std::set<std::string> NetworkIndex::came_between(Vni vni, store::Revision after,
                                                 store::Revision before) const {
  std::set<std::string> nodes;
  if (const auto found = held_by_vni_.find(vni); found != held_by_vni_.end()) {
    const auto& held = found->second;
    for (auto at = held.lower_bound({after + 1, 0}); at != held.end(); ++at) {
      const LockFacts& held_lock = *lock(at->second);
      const bool rewritten = held_lock.idle || held_lock.regained;
      if (at->first.revision < before || rewritten) nodes.insert(node_of(held_lock));
    }
  }
  for (const LockFacts* lock : released(vni))
    if (lock->released > after) nodes.insert(lock->node);
  nodes.erase("");
  return nodes;
}

store::Place NetworkIndex::last_loss(const std::string& node, Vni vni) const {
  store::Place last;
  for (const LockFacts* lock : released(vni))
    if (lock->node == node) last = std::max(last, lock->released_at);
  if (const auto idle = idle_by_vni_.find(vni); idle != idle_by_vni_.end())
    for (const std::string& key : idle->second)
      if (node_of(*lock(key)) == node)
        last = std::max(last, store::Place{lock(key)->place.revision, 0});
  return last;
}

bool NetworkIndex::has_attachments(const std::string& node, Vni vni) const {
  const auto nodes = nodes_by_vni_.find(vni);
  return nodes != nodes_by_vni_.end() && nodes->second.contains(node);
}

std::vector<const LockFacts*> NetworkIndex::released(Vni vni) const {
  std::vector<const LockFacts*> locks;
  const auto collect = [&](const auto& by_key) {
    for (const auto& [key, facts] : by_key) locks.push_back(facts);
  };
  if (vni != 0) {
    if (const auto found = released_by_vni_.find(vni); found != released_by_vni_.end())
      collect(found->second);
  } else {
    for (const auto& [network, by_key] : released_by_vni_) collect(by_key);
  }
  return locks;
}

std::vector<Vni> NetworkIndex::networks_with_released() const {
  std::vector<Vni> networks;
  for (const auto& [vni, by_key] : released_by_vni_) networks.push_back(vni);
  return networks;
}

bool NetworkIndex::mac_taken(Vni vni, const Mac& mac) const { return macs_.contains({vni, mac}); }

}  // namespace fairlead::ipam
