// Ledger: accounts for the memory of requests and the number of connections. Internal to http/.
//
// Each user has an account; so has each address group of strangers (unauthenticated peers). The
// accounts of one standing together have a limit below the total, so that strangers leave room for
// users, and users of limited standing (nodes) leave room for the rest. An account lives as long as
// somebody refers to it. Runs on one loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/key_map.h"
#include "foundation/base/share.h"
#include "foundation/http/server.h"

namespace fairlead::http {

struct Account {
  Account(std::size_t most_bytes, Share* bytes_of, std::size_t most_connections,
          Share* connections_of)
      : bytes(most_bytes, bytes_of), connections(most_connections, connections_of) {}
  Share bytes;
  Share connections;
};
using AccountRef = std::shared_ptr<Account>;

class Ledger {
 public:
  explicit Ledger(const Limits& limits);

  // `name`: the user's; for strangers their address group.
  AccountRef account(Standing standing, std::string_view name);

  const Share& bytes() const { return bytes_; }
  const Share& strangers_bytes() const { return strangers_bytes_; }
  std::size_t accounts() const { return accounts_.size(); }

 private:
  const Limits limits_;
  Share bytes_;
  Share strangers_bytes_;
  Share limited_bytes_;
  Share connections_;
  Share limited_connections_;
  KeyMap<std::weak_ptr<Account>> accounts_;
};

}  // namespace fairlead::http
