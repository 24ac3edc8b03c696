#include "foundation/http/ledger.h"

#include <algorithm>

namespace fairlead::http {
namespace {

// Parts of the whole. What one account may hold is more than the largest body, unless the whole is
// set very small.
constexpr std::size_t kStrangersPart = 8;
constexpr std::size_t kOneStrangerPart = 32;
constexpr std::size_t kLimitedPart = 2;
constexpr std::size_t kOneLimitedPart = 16;
constexpr std::size_t kOneTrustedPart = 2;
constexpr std::size_t kOneLimitedConnectionsPart = 100;
constexpr std::size_t kFewConnections = 8;

std::size_t four_fifths(std::size_t whole) { return std::max<std::size_t>(1, whole * 4 / 5); }

}  // namespace

Ledger::Ledger(const Limits& limits)
    : limits_(limits),
      bytes_(limits.request_bytes),
      strangers_bytes_(limits.request_bytes / kStrangersPart, &bytes_),
      limited_bytes_(limits.request_bytes / kLimitedPart, &bytes_),
      connections_(limits.connections),
      limited_connections_(four_fifths(limits.connections), &connections_) {}

AccountRef Ledger::account(Standing standing, std::string_view name) {
  std::string key(1, static_cast<char>('0' + static_cast<int>(standing)));
  key.append(name);
  if (const auto at = accounts_.find(key); at != accounts_.end()) {
    if (AccountRef known = at->second.lock()) return known;
    accounts_.erase(at);
  }
  const std::size_t bytes = limits_.request_bytes;
  const std::size_t connections = limits_.connections;
  std::unique_ptr<Account> made;
  switch (standing) {
    case Standing::stranger:
      made = std::make_unique<Account>(bytes / kOneStrangerPart, &strangers_bytes_, connections,
                                       &connections_);
      break;
    case Standing::limited:
      made = std::make_unique<Account>(
          bytes / kOneLimitedPart, &limited_bytes_,
          std::max(kFewConnections, connections / kOneLimitedConnectionsPart),
          &limited_connections_);
      break;
    case Standing::trusted:
      made = std::make_unique<Account>(bytes / kOneTrustedPart, &bytes_, four_fifths(connections),
                                       &connections_);
      break;
  }
  // REQUIRES that the ledger outlives its accounts, which its owner sees to.
  AccountRef account(made.release(), [this, key](Account* gone) {
    accounts_.erase(key);
    delete gone;
  });
  accounts_.insert_or_assign(std::move(key), account);
  return account;
}

}  // namespace fairlead::http
