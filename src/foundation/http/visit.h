// Visit: one connection and the account it is charged to: a stranger's until its first
// authenticated request, then that caller's. Internal to http/.
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

  // Sets what the connection itself is charged for: certificates, the heads of its requests, write
  // buffers. False, without any change, when the account is used up.
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

  // The caller of the current request. The first authenticated one takes the connection over; false
  // when it has too many connections, or no room for this one's charge.
  bool recognise(const Caller& caller) {
    return known_ || caller.standing == Standing::stranger || become(caller);
  }
  // The account for a body of that caller or a response to it: behind a proxy, many callers share a
  // connection.
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
