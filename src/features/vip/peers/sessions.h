// Sessions: the engine's conversations with its peers, as bytes: greets them, seals what is sent to
// them, and opens what they sent. Pure: the socket is the engine's.
//
//   hello   type 2: who asks, its incarnation, whom it asks, and the incarnation it knows of them;
//           signed with what the two share: the election's secret, or their key (keys/)
//   sealed  type 1: a Message (seal.h), named by its session
//   plain   type 3: a Message with the sender's name, where the election has no secret
//
// Two engines that know each other's incarnation have a session. A hello with an incarnation that
// is not known makes a session in waiting; it takes the place of the one in use when something was
// opened under it. So a hello that was recorded and sent again disturbs nothing, and an incarnation
// whose place was taken never speaks again: its datagrams could have been recorded, too.
//
// With keys each pair of nodes has its own, and gets a new one while it talks. The session of the
// new key waits beside the one in use until the peer has the key too (probe()); what was sealed
// under the older one meanwhile is still opened.
//
// Without secret and keys nothing is signed or sealed: whoever reaches the port can speak as any
// peer. Status and log say so.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/election/message.h"
#include "features/vip/peers/seal.h"

namespace fairlead::vip {

class Sessions {
 public:
  struct Options {
    SealEnd self;
    std::optional<std::string> secret;  // of the whole election
    bool keyed = false;                 // each pair has a key of its own; without both: plain
  };
  struct Received {
    std::string from;
    Message message;
  };
  // What a datagram came to.
  struct Outcome {
    std::optional<Received> received;
    std::optional<std::pair<std::string, std::string>> reply;  // to whom, bytes
    std::string refused;                                       // why it was not taken
    std::string knock;  // somebody who could be a member, and is none, has spoken: its name
  };

  explicit Sessions(Options options) : options_(std::move(options)) {}

  // Those who may talk to this node.
  void set_peers(const std::vector<std::string>& names);

  // What this node shares with others, by their names, members or not; replaces what was told
  // before. A peer without a key is neither heard nor spoken to. REQUIRES: keyed.
  void set_keys(const std::map<std::string, std::string>& keys);

  // The datagram for a peer, or a greeting while there is no session with it; empty: there is no
  // key yet.
  std::string send(const std::string& to, const Message& message);
  // While a peer has not been heard under its new key: what tries it, to be sent beside messages.
  std::optional<std::string> probe(const std::string& to);
  // What the guard sends when this engine has ended; nothing without a session.
  std::optional<std::string> farewell(const std::string& to, const Message& message) const;

  Outcome receive(std::string_view datagram);

  const SealEnd& self() const { return options_.self; }
  bool authenticated() const { return options_.secret.has_value() || options_.keyed; }
  bool has_session(const std::string& peer) const;
  // Counts the sessions that were taken into use or ended: farewells are others then.
  std::uint64_t changes() const { return changes_; }

 private:
  struct Session {
    std::uint64_t number = 0;       // counts the sessions of this engine
    std::uint64_t incarnation = 0;  // of the peer
    std::string secret;
    Seal seal;
  };
  // Kept also when it is no member for a while: what was opened must not be opened again.
  struct Peer {
    bool member = true;
    std::optional<Session> current;
    // The newest last. Nothing was opened under them yet, or they are the current one's
    // predecessors under an older key.
    std::vector<Session> others;
    std::uint64_t known = 0;          // the incarnation that its last greeting told
    std::deque<std::uint64_t> ended;  // incarnations that another has taken the place of
  };

  // Null: no member.
  Peer* member(std::string_view name);
  const Peer* member(std::string_view name) const;
  // What this node shares with the peer; null: nothing.
  const std::string* secret_of(const std::string& peer) const;
  Session& add_session(const std::string& name, Peer& peer, std::uint64_t incarnation,
                       const std::string& secret);
  void take_into_use(Peer& peer, std::size_t other);
  std::string hello(const std::string& to) const;
  std::string plain(const Message& message) const;
  Outcome take_hello(std::string_view datagram);
  Outcome take_sealed(std::string_view datagram);
  Outcome take_plain(std::string_view datagram);
  static Outcome opened(const std::string& from, std::string_view bytes);

  Options options_;
  std::map<std::string, Peer, std::less<>> peers_;
  std::map<std::string, std::string> keys_;
  std::uint64_t changes_ = 0;
  std::uint64_t made_ = 0;  // sessions
};

}  // namespace fairlead::vip
