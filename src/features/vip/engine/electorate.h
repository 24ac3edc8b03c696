// Electorate: how an Election reaches the others who take part in it. The engine owns one and knows
// nothing else of the way: PeerElectorate sends sealed datagrams, StoreElectorate (lease/) makes
// requests to a shared store.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "features/vip/election/election.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

// A datagram that releases everything of this node, for one of the others.
struct Farewell {
  runtime::Endpoint to;
  std::string bytes;
};

class Electorate {
 public:
  virtual ~Electorate() = default;

  virtual Election& election() = 0;

  // Starts to send what the election has to say. To be called after every step of it, when fences
  // and addresses are as it wants them: what is told to others must be true already.
  virtual void carry() = 0;

  // Hands to the election what others answer, and calls `settle` after each such step. Until
  // cancelled.
  virtual Task<void> run(std::function<void()> settle) = 0;

  // Every fence of this node has been closed for the margin, and it holds nothing from now on: the
  // others need not wait for the lease. To be called while run() runs.
  virtual Task<void> say_farewell() = 0;

  // What the guard is to send when this process has ended without say_farewell(). Other ones are
  // valid whenever farewells_changed() is notified.
  virtual std::vector<Farewell> farewells() const { return {}; }
  runtime::Signal& farewells_changed() { return farewells_changed_; }

  // What this node shares with each of the others, where they have a key for each pair.
  virtual void set_keys(const std::map<std::string, std::string>&) {}

  // Others cannot take part in another's name.
  virtual bool authenticated() const = 0;

 private:
  runtime::Signal farewells_changed_;
};

}  // namespace fairlead::vip
