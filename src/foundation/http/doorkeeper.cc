#include "foundation/http/doorkeeper.h"

#include "foundation/base/check.h"
#include "foundation/base/ip.h"

namespace fairlead::http {

std::string address_group(std::string_view peer) {
  std::string_view host = peer;
  if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos)
    host = host.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (const std::size_t zone = host.find('%'); zone != std::string_view::npos)
    host = host.substr(0, zone);
  const Result<Ip> address = Ip::parse(host);
  if (!address) return std::string(peer);
  return address->is_v4() ? address->to_string() : Cidr(*address, 64).to_string();
}

Doorkeeper::Entry Doorkeeper::enter(Id id, std::string_view group) {
  if (strangers_.empty() && known_.size() >= most_connections_) return {};
  auto place = groups_.find(group);
  if (place == groups_.end()) {
    place = groups_.try_emplace(std::string(group)).first;
  } else {
    ranking_.erase(rank_of(place->second));
  }
  std::set<Id>& members = place->second.members;
  CHECK(members.empty() || *members.rbegin() < id);
  members.insert(members.end(), id);
  ranking_.emplace(rank_of(place->second), place);
  strangers_.emplace_hint(strangers_.end(), id, place);
  if (strangers_.size() <= most_strangers_ && connections() <= most_connections_)
    return {.admitted = true, .gives_way = std::nullopt};
  return {.admitted = true, .gives_way = turn_out()};
}

Doorkeeper::Id Doorkeeper::turn_out() {
  const Id oldest = *ranking_.rbegin()->second->second.members.begin();
  remove_stranger(strangers_.find(oldest));
  return oldest;
}

void Doorkeeper::remove_stranger(Strangers::iterator at) {
  const Groups::iterator group = at->second;
  ranking_.erase(rank_of(group->second));
  group->second.members.erase(at->first);
  strangers_.erase(at);
  if (group->second.members.empty()) {
    groups_.erase(group);
  } else {
    ranking_.emplace(rank_of(group->second), group);
  }
}

void Doorkeeper::recognise(Id id) {
  const auto at = strangers_.find(id);
  if (at == strangers_.end()) return;
  remove_stranger(at);
  known_.insert(id);
}

void Doorkeeper::leave(Id id) {
  if (known_.erase(id) > 0) return;
  if (const auto at = strangers_.find(id); at != strangers_.end()) remove_stranger(at);
}

}  // namespace fairlead::http
