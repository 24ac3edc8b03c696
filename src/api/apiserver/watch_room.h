// WatchRoom: a budget of bytes for watch events that clients have not read yet, shared by user
// (user_shares.h). RoomHold: what one watch holds of it.
//
// A watch takes room before it encodes what it will send, and pauses while there is none: an unread
// watch holds little, and all watches together no more than the budget. The bytes sent carry their
// charge until the last of them is taken by the peer. Bytes that several watches share are charged
// to each in full, because each may be the last to hold them.
//
// Paused watches are served round-robin by user, and first come first served within a user;
// administrators before other users before nodes, each group within its share. A watch
// that waits for its user's share delays no other user. Runs on one loop; serving a paused watch is
// O(1) in the number of paused watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "api/identity/user.h"
#include "foundation/base/bytes.h"
#include "foundation/runtime/channel.h"

namespace fairlead::apiserver {

class RoomHold;

class WatchRoom {
 public:
  explicit WatchRoom(std::size_t most);

  // One user's part. Lives as long as somebody holds it, even beyond the WatchRoom.
  class Account;
  using AccountRef = std::shared_ptr<Account>;
  AccountRef account(const identity::User& user);

  std::size_t taken() const;
  std::uint64_t waits() const;  // how often a watch had to pause

 private:
  friend class RoomHold;
  class State;
  std::shared_ptr<State> state_;
};

class RoomHold {
 public:
  // `granted` is notified when room that ask() could not give is there. It must outlive this.
  RoomHold(WatchRoom::AccountRef account, runtime::Signal& granted);
  RoomHold(const RoomHold&) = delete;
  RoomHold& operator=(const RoomHold&) = delete;
  ~RoomHold();

  // True: this holds `amount` or more, or all that the user may have. False: it is queued for that;
  // ask again when notified, with the same or another amount.
  bool ask(std::size_t amount);
  // Takes `amount` more at once, or nothing.
  bool extend(std::size_t amount);
  // Gives back everything above `amount`, and leaves the queue.
  void keep(std::size_t amount);
  // Attaches all that is held to `bytes`: it is given back when the last copy of them is destroyed.
  // This holds nothing afterwards.
  Bytes charge(Bytes bytes);

 private:
  friend class WatchRoom;
  void stop_waiting();

  WatchRoom::AccountRef account_;
  runtime::Signal& granted_;
  std::size_t held_ = 0;
  std::size_t wanted_ = 0;
  bool waits_ = false;
  std::list<RoomHold*>::iterator place_;
};

}  // namespace fairlead::apiserver
