#include "api/apiserver/watch_room.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/apiserver/user_shares.h"
#include "foundation/base/key_map.h"

namespace fairlead::apiserver {

namespace {

// Administrators, other users, nodes: those of one group share what is left to it.
constexpr std::size_t kGroups = 3;
std::size_t group_of(const identity::Roles& roles) {
  if (roles.admin) return 0;
  return roles.node.empty() ? 1 : 2;
}

}  // namespace

class WatchRoom::State : public std::enable_shared_from_this<State> {
 public:
  // Accounts of one group with somebody waiting whom their own share would let in, as far as is
  // known; who was served goes to the end.
  using Line = std::list<Account*>;

  explicit State(std::size_t most) : shares(most) {}

  AccountRef account(const identity::User& user);
  // Serves those who wait, as far as there is room.
  void serve_lines();

  UserShares shares;
  KeyMap<std::weak_ptr<Account>> accounts;
  std::array<Line, kGroups> lines;
  std::size_t waiting = 0;  // holds, in line or not
  std::uint64_t waits = 0;

 private:
  void serve(Line& line);
};

class WatchRoom::Account {
 public:
  Account(std::shared_ptr<State> its_state, std::string name, UserShares::Part part,
          State::Line& line)
      : state(std::move(its_state)),
        share(part.most, part.whole),
        name_(std::move(name)),
        line_(line) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() { state->accounts.erase(name_); }

  // Takes at once, unless somebody was here before.
  bool take(std::size_t amount) { return waiting.empty() && line_.empty() && share.take(amount); }
  void give_back(std::size_t amount) {
    if (amount == 0) return;
    share.give_back(amount);
    if (state->waiting == 0) return;
    if (!waiting.empty() && fits_own_share()) enter_line();
    state->serve_lines();
  }
  std::list<RoomHold*>::iterator wait(RoomHold& hold) {
    ++state->waits;
    ++state->waiting;
    const auto place = waiting.insert(waiting.end(), &hold);
    if (fits_own_share()) enter_line();
    return place;
  }
  void stop_waiting(std::list<RoomHold*>::iterator place) {
    --state->waiting;
    waiting.erase(place);
    if (waiting.empty()) {
      leave_line();
    } else if (fits_own_share()) {
      enter_line();
    }
  }
  void leave_line() {
    if (std::exchange(in_line_, false)) line_.erase(place_);
  }

  // What the first who waits asks for, and whether there is so much of the account's own.
  std::size_t next() const { return waiting.front()->wanted_ - waiting.front()->held_; }
  bool fits_own_share() const { return next() <= share.most() - share.taken(); }

  const std::shared_ptr<State> state;
  Share share;
  std::list<RoomHold*> waiting;

 private:
  void enter_line() {
    if (!std::exchange(in_line_, true)) place_ = line_.insert(line_.end(), this);
  }

  const std::string name_;
  State::Line& line_;
  bool in_line_ = false;
  State::Line::iterator place_;
};

WatchRoom::AccountRef WatchRoom::State::account(const identity::User& user) {
  const auto at = accounts.find(user.name);
  if (at != accounts.end())
    if (AccountRef known = at->second.lock()) return known;
  const identity::Roles roles = identity::roles_of(user);
  auto made = std::make_shared<Account>(shared_from_this(), user.name, shares.part_of(roles),
                                        lines[group_of(roles)]);
  accounts.insert_or_assign(user.name, made);
  return made;
}

void WatchRoom::State::serve_lines() {
  for (Line& line : lines) serve(line);
}

void WatchRoom::State::serve(Line& line) {
  while (!line.empty()) {
    Account& account = *line.front();
    RoomHold& first = *account.waiting.front();
    // Who waits for their own holds up nobody: they come back when some of it is given back.
    if (!account.fits_own_share()) {
      account.leave_line();
      continue;
    }
    // Who is next waits for what all share: nobody with less to ask for passes by.
    if (!account.share.take(account.next())) return;
    line.splice(line.end(), line, line.begin());
    first.held_ = first.wanted_;
    first.stop_waiting();
    first.granted_.notify();
  }
}

WatchRoom::WatchRoom(std::size_t most) : state_(std::make_shared<State>(most)) {}

WatchRoom::AccountRef WatchRoom::account(const identity::User& user) {
  return state_->account(user);
}

std::size_t WatchRoom::taken() const { return state_->shares.all().taken(); }
std::uint64_t WatchRoom::waits() const { return state_->waits; }

RoomHold::RoomHold(WatchRoom::AccountRef account, runtime::Signal& granted)
    : account_(std::move(account)), granted_(granted) {}

RoomHold::~RoomHold() { keep(0); }

bool RoomHold::ask(std::size_t amount) {
  wanted_ = std::max(held_, std::min(amount, account_->share.most()));
  if (wanted_ == held_) {
    keep(held_);
    return true;
  }
  if (waits_) return false;
  if (account_->take(wanted_ - held_)) {
    held_ = wanted_;
    return true;
  }
  place_ = account_->wait(*this);
  waits_ = true;
  return false;
}

bool RoomHold::extend(std::size_t amount) {
  if (!account_->take(amount)) return false;
  held_ += amount;
  return true;
}

void RoomHold::keep(std::size_t amount) {
  if (waits_) {
    stop_waiting();
    account_->state->serve_lines();  // perhaps it was the one that the others waited for
  }
  if (amount >= held_) return;
  const std::size_t before = std::exchange(held_, amount);
  account_->give_back(before - amount);
}

Bytes RoomHold::charge(Bytes bytes) {
  struct Charged {
    Charged(Bytes its_bytes, WatchRoom::AccountRef its_account, std::size_t its_amount)
        : bytes(std::move(its_bytes)), account(std::move(its_account)), amount(its_amount) {}
    Charged(const Charged&) = delete;
    ~Charged() {
      bytes = {};
      account->give_back(amount);
    }
    Bytes bytes;
    const WatchRoom::AccountRef account;
    const std::size_t amount;
  };
  const auto owner =
      std::make_shared<const Charged>(std::move(bytes), account_, std::exchange(held_, 0));
  return Bytes::share(owner, owner->bytes.view());
}

void RoomHold::stop_waiting() {
  waits_ = false;
  account_->stop_waiting(place_);
}

}  // namespace fairlead::apiserver
