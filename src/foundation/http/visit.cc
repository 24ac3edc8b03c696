#include "foundation/http/visit.h"

#include "foundation/http/server_core.h"

namespace fairlead::http {

Visit::Visit(ServerCore& core, Doorkeeper::Id id, std::string_view group)
    : core_(core),
      id_(id),
      account_(core.ledger.account(Standing::stranger, group)),
      held_(account_->bytes) {}

Visit::~Visit() {
  core_.door.leave(id_);
  held_.release();
  if (known_) account_->connections.give_back(1);
}

bool Visit::hold_certificate(std::size_t bytes) {
  if (!held_.resize(bytes + heads_ + buffers_)) return false;
  certificate_ = bytes;
  return true;
}

bool Visit::become(const Caller& caller) {
  AccountRef account = core_.ledger.account(caller.standing, caller.name);
  if (!account->connections.take(1)) {
    core_.count(Refusal::user_connections);
    return false;
  }
  if (!held_.move_to(account->bytes)) {
    account->connections.give_back(1);
    core_.count(Refusal::memory);
    return false;
  }
  core_.door.recognise(id_);
  account_ = std::move(account);
  note_ = caller.note;
  known_ = true;
  return true;
}

AccountRef Visit::account_of(const Caller& caller) {
  // A stranger on a connection of somebody known, too, is on that connection's account: their body
  // is not read.
  if (caller.standing == Standing::stranger || (known_ && caller.note == note_)) return account_;
  return core_.ledger.account(caller.standing, caller.name);
}

}  // namespace fairlead::http
