// WatchRoom: the memory of what waits for watchers to take it, divided by who watches
// (user_shares.h). RoomHold: what one watch has of it.
//
// A watch asks before it makes what it will send, and waits when there is no room: a watch that
// nobody reads holds little, and all of them together no more than the whole. What is sent carries
// its charge with it, until its last byte was taken. Everything counts in full, also bytes that
// several watches share: each may be the last to hold them.
//
// Those who wait are served in turn: user by user, and those of one user in order of arrival. Who
// waits for room in their own share holds up nobody else. Runs on one loop; serving one who waits
// costs the same however many do.
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

  // One user's part; there as long as somebody holds it, also without the room.
  class Account;
  using AccountRef = std::shared_ptr<Account>;
  AccountRef account(const identity::User& user);

  std::size_t taken() const;
  std::uint64_t waits() const;  // how often somebody had to wait

 private:
  friend class RoomHold;
  class State;
  std::shared_ptr<State> state_;
};

class RoomHold {
 public:
  // `granted` is notified when what was asked for in vain is there. It must outlive this.
  RoomHold(WatchRoom::AccountRef account, runtime::Signal& granted);
  RoomHold(const RoomHold&) = delete;
  RoomHold& operator=(const RoomHold&) = delete;
  ~RoomHold();

  // True: it holds `amount` or more, or all that the user may have. False: it waits in line for
  // that; ask again when notified, with the same or another amount.
  bool ask(std::size_t amount);
  // So much more, at once or not at all.
  bool extend(std::size_t amount);
  // Gives back what it has above `amount`, and leaves the line.
  void keep(std::size_t amount);
  // The same bytes, with what is held: that is given back when nobody has them any more. Holds
  // nothing then.
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
