#include "apiserver/seats.h"

#include <algorithm>

namespace fairlead::apiserver {
namespace {

// Users that once asked are remembered, so that nothing is allocated per request, up to this many.
constexpr std::size_t kUsersKept = 10'000;

std::size_t part(std::size_t all, std::size_t tenths) {
  return std::max<std::size_t>(1, all * tenths / 10);
}

}  // namespace

Seats::Seats(std::size_t all)
    : all_(all), others_(part(all, 9), &all_), nodes_(part(all, 8), &others_) {}

Share& Seats::share_of(const identity::User& user) {
  const identity::Roles roles = identity::roles_of(user);
  if (roles.admin) return all_;
  if (const auto known = users_.find(user.name); known != users_.end()) return known->second;
  if (users_.size() >= kUsersKept) forget_idle_users();
  const bool anonymous = !roles.authenticated;
  const bool few = !roles.node.empty() || anonymous;
  Share* whole = roles.node.empty() ? &others_ : &nodes_;
  return users_.try_emplace(user.name, part(all_.most(), few ? 1 : 9), whole).first->second;
}

void Seats::forget_idle_users() {
  std::erase_if(users_, [](const auto& user) { return user.second.taken() == 0; });
}

Seat Seats::take(const identity::User& user) {
  Share& share = share_of(user);
  return share.take(1) ? Seat(&share) : Seat();
}

}  // namespace fairlead::apiserver
