// Visit: one connection, and on whose account it is: a stranger's until the first request whose
// caller is known, that caller's from then on. Internal to http/.
#pragma once

#include <memory>
#include <string_view>

#include "foundation/http/doorkeeper.h"
#include "foundation/http/ledger.h"
#include "foundation/http/server.h"

namespace fairlead::http {

struct ServerCore;

class Visit {
 public:
  Visit(ServerCore& core, Doorkeeper::Id id, std::string_view group);
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit();

  Doorkeeper::Id id() const { return id_; }
  bool known() const { return known_; }

  // What the connection itself holds from now on, on its account: certificates, the heads of its
  // requests, and buffers of what waits to be sent. False when the share is used up; nothing
  // changes then.
  bool hold_certificate(std::size_t bytes);
  bool hold_heads(std::size_t bytes) {
    if (bytes == heads_) return true;
    if (!held_.resize(certificate_ + bytes + buffers_)) return false;
    heads_ = bytes;
    return true;
  }
  bool hold_buffers(std::size_t bytes) {
    if (bytes == buffers_) return true;
    if (!held_.resize(certificate_ + heads_ + bytes)) return false;
    buffers_ = bytes;
    return true;
  }
  std::size_t heads() const { return heads_; }

  // Who asks on it now. The first who is known makes it theirs; false when they have too many
  // connections, or no room for what it holds.
  bool recognise(const Caller& caller) {
    return known_ || caller.standing == Standing::stranger || become(caller);
  }
  // Where a body of that caller, or an answer to them, is counted: with a proxy in front, many
  // share a connection.
  AccountRef account_of(const Caller& caller);

 private:
  bool become(const Caller& caller);

  ServerCore& core_;
  const Doorkeeper::Id id_;
  AccountRef account_;
  Lease held_;
  std::size_t certificate_ = 0;
  std::size_t heads_ = 0;
  std::size_t buffers_ = 0;
  std::shared_ptr<const void> note_;  // of the caller whose connection it is
  bool known_ = false;
};

}  // namespace fairlead::http
