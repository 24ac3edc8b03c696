// Sessions: the engine's conversations with its peers, as bytes: greets them, seals what is sent to
// them, and opens what they sent. Pure: the socket is the engine's.
//
//   hello   type 2: who asks, its incarnation, whom it asks, and the incarnation it knows of them;
//           signed with the secret
//   sealed  type 1: a Message (seal.h), named by its session
//   plain   type 3: a Message with the sender's name, where the election has no secret
//
// Two engines that know each other's incarnation have a session. A hello with an incarnation that
// is not known makes a session in waiting; it takes the place of the one in use when something was
// opened under it. So a hello that was recorded and sent again disturbs nothing.
//
// Without a secret nothing is signed or sealed: whoever reaches the port can speak as any peer.
// Status and log say so.
#pragma once

#include <cstdint>
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
    std::optional<std::string> secret;  // nothing: plain
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
  };

  explicit Sessions(Options options) : options_(std::move(options)) {}

  // Those who may talk to this node. Sessions with others end.
  void set_peers(const std::vector<std::string>& names);

  // The datagram for a peer, or a greeting while there is no session with it.
  std::string send(const std::string& to, const Message& message);
  // What the guard sends when this engine has ended; nothing without a session.
  std::optional<std::string> farewell(const std::string& to, const Message& message) const;

  Outcome receive(std::string_view datagram);

  const SealEnd& self() const { return options_.self; }
  bool authenticated() const { return options_.secret.has_value(); }
  bool has_session(const std::string& peer) const;
  // Counts the sessions that were taken into use or ended: farewells are others then.
  std::uint64_t changes() const { return changes_; }

 private:
  struct Session {
    std::uint64_t incarnation = 0;  // of the peer
    Seal seal;
  };
  struct Peer {
    std::optional<Session> current;
    std::vector<Session> waiting;  // the newest last; nothing was opened under them yet
    std::uint64_t known = 0;       // the incarnation that its last greeting told
  };

  std::string hello(const std::string& to) const;
  std::string plain(const Message& message) const;
  Outcome take_hello(std::string_view datagram);
  Outcome take_sealed(std::string_view datagram);
  Outcome take_plain(std::string_view datagram);
  static Outcome opened(const std::string& from, std::string_view bytes);

  Options options_;
  std::map<std::string, Peer, std::less<>> peers_;
  std::uint64_t changes_ = 0;
};

}  // namespace fairlead::vip
