// PeerElectorate: an Elector among peers: sealed datagrams, and its state on disk.
//
//   socket → Sessions → Elector → Sessions → socket
//   disk   ←───────────────→ │
//
// A heartbeat's time is read before it is sealed.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "features/vip/election/elector.h"
#include "features/vip/engine/electorate.h"
#include "features/vip/engine/state_file.h"
#include "features/vip/peers/sessions.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

// Of an engine among peers.
struct EngineOptions {
  std::string node;
  runtime::Endpoint listen;
  std::string state;                  // file
  std::optional<std::string> secret;  // of the whole election
  bool keyed =
      false;          // each pair has a key (set_keys()); without both, peers are not authenticated
  Settings settings;  // of the first start; later the state's count
  // A node that cannot reach a majority goes on holding what it held. Gives up the promise that no
  // two hosts answer.
  bool keep_without_quorum = false;
};

class PeerElectorate final : public Electorate {
 public:
  // Reads or begins the state, binds the socket. Fails naming the file or the address.
  static Result<std::unique_ptr<PeerElectorate>> open(runtime::Runtime& runtime,
                                                      EngineOptions options);

  Elector& election() override { return *elector_; }
  void carry() override;
  Task<void> run(std::function<void()> settle) override;
  Task<void> say_farewell() override;
  bool authenticated() const override { return sessions_.authenticated(); }
  void set_keys(const std::map<std::string, std::string>& keys) override;
  std::vector<Farewell> farewells() const override;

 private:
  struct Outgoing {
    std::string to;
    std::string bytes;
  };

  PeerElectorate(runtime::Runtime& runtime, EngineOptions options, EngineState state,
                 std::unique_ptr<runtime::DatagramSocket> socket);
  void follow_members();
  void queue(const std::string& to, std::string bytes);
  // In the log, once for each problem.
  void tell_problem(const std::string& node, const std::string& problem);

  Task<void> receive();
  Task<void> send();
  Task<void> keep_state();

  runtime::Runtime& runtime_;
  EngineOptions options_;
  std::uint64_t instance_;
  std::unique_ptr<runtime::DatagramSocket> socket_;
  Sessions sessions_;
  std::optional<Elector> elector_;
  Version members_;
  std::map<std::string, runtime::Endpoint, std::less<>> addresses_;
  std::deque<Outgoing> outgoing_;
  std::uint64_t sessions_seen_ = 0;
  std::map<std::string, std::string> told_;  // problems of members, this node's too
  bool gone_ = false;
  std::function<void()> settle_;
  runtime::Signal to_send_, to_write_;
};

}  // namespace fairlead::vip
