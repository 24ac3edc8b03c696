// Doorkeeper: which connections stay when there are too many. Internal to http/.
//
// A connection is a stranger's until a request on it has proven who asks. Strangers have a number
// of places among all connections; the rest is for those who are known. When the strangers' places
// are full a newcomer is let in all the same, and the oldest connection of the address that holds
// most of them gives way: whoever floods pushes out their own, and a client that soon says who it
// is gets in from any address, also from the one that floods.
//
// Pure; the same calls give the same answers.
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

// What counts as one address: an IPv4 address, or the /64 of an IPv6 one. `peer` is
// PeerInfo::address, "10.0.0.7:41234"; what is no address stands for itself.
std::string address_group(std::string_view peer);

class Doorkeeper {
 public:
  using Id = std::uint64_t;

  // REQUIRES: connections > 0 and strangers > 0.
  Doorkeeper(std::size_t connections, std::size_t strangers)
      : most_connections_(connections), most_strangers_(strangers) {}

  struct Entry {
    bool admitted = false;
    std::optional<Id> gives_way;  // to be closed; it has left already
  };
  // A new connection. Refused only when everybody inside is known. REQUIRES: `id` is larger than
  // all before.
  Entry enter(Id id, std::string_view group);
  // It is no stranger's any more.
  void recognise(Id id);
  // It is closed. Nothing happens if it has left already.
  void leave(Id id);

  std::size_t connections() const { return strangers_.size() + known_.size(); }
  std::size_t strangers() const { return strangers_.size(); }

 private:
  struct Group {
    std::set<Id> members;  // the oldest first
  };
  using Groups = std::map<std::string, Group, std::less<>>;
  using Strangers = std::map<Id, Groups::iterator>;
  // The last of these gives way: the largest group, of several the one with the oldest member.
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
