// PeerKeys: the keys that this node shares with the other members of its election, agreed on over
// mutual TLS (docs/design/026). Runs in the agent: a handshake never holds up the engine, and an
// engine that is started anew gets the keys of the one before.
//
//   TCP on the port of the election's datagrams; of two nodes the one whose name comes first dials
//   handshake → each sends a KeyOffer → the key; then a byte fro and to every second
//
// A connection that is lost is dialed again, and brings another key. The key that is there stays
// for an hour without a connection: certificates that are not accepted any more end a peer's part
// in the election within that time. Certificates and keys are read again when their files change,
// and every connection is then made anew.
//
// Strangers: they get a handshake and a few seconds, so many at a time from all addresses of no
// member, and so many from each member's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/identity/authority.h"
#include "features/vip/config/vip_plan.h"
#include "features/vip/keys/key_offer.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {

// For status and metrics.
struct PeerKeyReport {
  std::string peer;
  bool has_key = false;
  bool connected = false;
  std::string since;    // RFC 3339: of the key
  std::string expires;  // of the peer's certificate
  std::string problem;  // why there is no connection
};

class PeerKeys {
 public:
  struct Options {
    std::string node;
    runtime::Endpoint listen;
    TlsFiles tls;  // empty: nothing is dialed or listened to
    bool operator==(const Options&) const = default;
  };
  // `changed`: keys() is another. REQUIRES: one for each registry of metrics.
  PeerKeys(runtime::Runtime& runtime, metrics::Registry& metrics, std::function<void()> changed);
  ~PeerKeys();

  // From now on. Fails as read_tls() does, and changes nothing then.
  Result<> follow(Options options);
  // The others: names, and where they listen.
  void set_peers(const std::map<std::string, runtime::Endpoint>& peers);

  // Until cancelled.
  Task<void> run();

  bool active() const { return !options_.tls.empty(); }
  std::map<std::string, std::string> keys() const;
  std::vector<PeerKeyReport> reports() const;

 private:
  struct Peer {
    std::string name;
    runtime::Endpoint at;
    bool wanted = true;
    bool dialed = false;     // a fiber does
    std::uint64_t link = 0;  // the connection that counts; 0: none
    std::string key;
    Instant alive{};  // when the last byte came
    WallTime since{}, expires{};
    std::string problem;
    runtime::Signal changed;
  };
  using PeerPtr = std::shared_ptr<Peer>;

  Task<void> keep_files();
  Task<void> forget_old_keys();
  Task<void> dial(PeerPtr peer);
  Task<Result<>> visit_peer(PeerPtr peer);
  Task<void> listen();
  Task<void> take_visitor(std::unique_ptr<runtime::Stream> stream);
  Task<Result<PeerPtr>> greet_visitor(runtime::Stream& stream);
  Result<PeerPtr> judge_visitor(const runtime::PeerInfo& info, const KeyOffer& offer);
  Task<Result<>> answer_bytes(runtime::Stream& stream, PeerPtr peer);
  Task<void> send_bytes(runtime::Stream& stream, PeerPtr peer);

  void begin_anew();
  KeyOffer own_offer(const std::string& to);
  void take_key(Peer& peer, std::string key, const runtime::PeerInfo& info);
  void lost(Peer& peer, std::uint64_t link, const std::string& problem);
  PeerPtr find(const std::string& name) const;
  PeerPtr find_at(const std::string& address) const;
  bool may_enter(const std::string& place, bool member) const;

  runtime::Runtime& runtime_;
  std::function<void()> changed_;
  Options options_;
  std::shared_ptr<identity::SwappableTls> tls_ = std::make_shared<identity::SwappableTls>();
  std::uint64_t round_ = 0;  // counts the changes that make every connection anew
  std::uint64_t links_ = 0;
  std::map<std::string, PeerPtr> peers_;
  std::map<std::string, std::size_t> visitors_;  // not known yet: by member, or strangers as ""
  std::string file_problem_;
  std::unique_ptr<runtime::Listener> listener_;
  runtime::Signal followed_;
  metrics::Counter& refused_;
  // Outlives this in the registry.
  std::shared_ptr<std::map<std::string, bool>> connected_ =
      std::make_shared<std::map<std::string, bool>>();
};

}  // namespace fairlead::vip
