#include "api/apiserver/user_shares.h"

#include <algorithm>

namespace fairlead::apiserver {
namespace {

std::size_t part(std::size_t all, std::size_t tenths) {
  return std::max<std::size_t>(1, all * tenths / 10);
}

}  // namespace

UserShares::UserShares(std::size_t all)
    : all_(all), others_(part(all, 9), &all_), nodes_(part(all, 8), &others_) {}

UserShares::Part UserShares::part_of(const identity::Roles& roles) {
  const std::size_t all = all_.most();
  if (roles.admin) return {all, &all_};
  if (!roles.node.empty()) return {part(all, 1), &nodes_};
  return {part(all, roles.authenticated ? 9 : 1), &others_};
}

}  // namespace fairlead::apiserver
