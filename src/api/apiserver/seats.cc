#include "api/apiserver/seats.h"

namespace fairlead::apiserver {
namespace {

// Users that once asked are remembered, so that nothing is allocated per request, up to this many.
constexpr std::size_t kUsersKept = 10'000;

}  // namespace

Share& Seats::share_of(const identity::User& user) {
  const identity::Roles roles = identity::roles_of(user);
  if (roles.admin) return shares_.all();
  if (const auto known = users_.find(user.name); known != users_.end()) return known->second;
  if (users_.size() >= kUsersKept) forget_idle_users();
  const UserShares::Part part = shares_.part_of(roles);
  return users_.try_emplace(user.name, part.most, part.whole).first->second;
}

void Seats::forget_idle_users() {
  std::erase_if(users_, [](const auto& user) { return user.second.taken() == 0; });
}

Seat Seats::take(const identity::User& user) {
  Share& share = share_of(user);
  return share.take(1) ? Seat(&share) : Seat();
}

}  // namespace fairlead::apiserver
