// Doorkeeper: decides which connection is closed when there are too many. Internal to http/.
//
// A connection is a stranger's (unauthenticated) until a request on it is authenticated. Strangers
// may have a limited number of all connections. When that is reached, a new connection is accepted
// all the same, and the oldest connection of the address with the most strangers is closed: a
// flooding address loses its own connections, and a client that authenticates soon gets in from any
// address, even from that one.
//
// Pure and deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::http {

// The group that an address is counted in: the IPv4 address, or the /64 of an IPv6 address. `peer`
// is PeerInfo::address, "10.0.0.7:41234"; any other text is its own group.
std::string address_group(std::string_view peer);

class Doorkeeper {
 public:
  using Id = std::uint64_t;

  // REQUIRES: connections > 0 and strangers > 0.
  Doorkeeper(std::size_t connections, std::size_t strangers)
      : most_connections_(connections), most_strangers_(strangers) {}

  struct Entry {
    bool admitted = false;
    std::optional<Id> gives_way;  // to be closed; it is already forgotten here
  };
  // A new connection. Refused only when all connections are authenticated. REQUIRES: `id` is larger
  // than all before.
  Entry enter(Id id, std::string_view group);
  // A request on it was authenticated.
  void recognise(Id id);
  // It is closed. Nothing happens if it is already forgotten.
  void leave(Id id);

  std::size_t connections() const { return strangers_.size() + known_.size(); }
  std::size_t strangers() const { return strangers_.size(); }

 private:
  struct Group {
    std::set<Id> members;  // the oldest first
  };
  using Groups = std::map<std::string, Group, std::less<>>;
  using Strangers = std::map<Id, Groups::iterator>;
  // The last of these is closed next: the largest group; of several, the one with the oldest
  // member.
  using Rank = std::pair<std::size_t, Id>;  // size, and the complement of the oldest member

  static Rank rank_of(const Group& group) {
    return {group.members.size(), ~*group.members.begin()};
  }
  void remove_stranger(Strangers::iterator at);
  Id turn_out();

  const std::size_t most_connections_;
  const std::size_t most_strangers_;
  Groups groups_;
  std::map<Rank, Groups::iterator> ranking_;
  Strangers strangers_;
  std::set<Id> known_;
};

}  // namespace fairlead::http
