#include "features/vip/routes/expiring_addresses.h"

#include <net/if.h>

#include "foundation/base/log.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr Duration kSettles = 5s;

Result<HostAddress> place(const Ip& ip, const std::string& interface) {
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return fail(Code::not_found, "there is no interface " + interface);
  return HostAddress{index, ip, ip.width()};
}

Result<> take_back(RouteSocket& socket, const Ip& ip, const std::string& interface) {
  const Result<HostAddress> address = place(ip, interface);
  if (!address) return {};  // gone with its interface
  return socket.apply({AddressChange::Kind::remove, *address});
}

// An address of another process with this protocol is one to take over.
Result<> add(RouteSocket& socket, const RouteSocket::Loan& loan) {
  const Result<> added = socket.lend(loan, false);
  if (added || added.error().code != Code::already_exists) return added;
  FL_TRY(const HostState host, socket.observe());
  const auto there = host.addresses.find(loan.address);
  if (there != host.addresses.end() && there->second.protocol != loan.protocol)
    return fail(Code::already_exists, loan.address.ip.to_string() +
                                          " is an address of this host, added by somebody else");
  return socket.lend(loan, true);
}

}  // namespace

Result<std::unique_ptr<ExpiringAddresses>> ExpiringAddresses::open(runtime::Runtime& runtime,
                                                                   std::uint8_t protocol) {
  FL_TRY(std::shared_ptr<RouteSocket> socket, RouteSocket::open());
  return std::unique_ptr<ExpiringAddresses>(
      new ExpiringAddresses(runtime, protocol, std::move(socket)));
}

void ExpiringAddresses::keep(const Ip& ip, const std::string& interface) {
  const auto [at, added] = wanted_.try_emplace(ip, interface);
  if (!added && at->second == interface) return;
  at->second = interface;
  due_ = true;
  changed_.notify();
}

void ExpiringAddresses::drop(const Ip& ip) {
  if (wanted_.erase(ip) == 0) return;
  errors_.erase(ip);
  due_ = true;
  changed_.notify();
}

bool ExpiringAddresses::there(const Ip& ip) const {
  return wanted_.contains(ip) && lent_.contains(ip) && !errors_.contains(ip);
}

std::string ExpiringAddresses::error(const Ip& ip) const {
  const auto at = errors_.find(ip);
  return at == errors_.end() ? "" : at->second;
}

Task<void> ExpiringAddresses::settled() {
  const Instant limit = runtime_.now() + kSettles;
  while (busy_ || due_) {
    runtime::TimedWait wait(runtime_, settled_, limit);
    if (!co_await wait) co_return;
  }
}

Task<void> ExpiringAddresses::renew() {
  std::vector<std::pair<Ip, std::string>> back;
  for (const auto& [ip, interface] : lent_)
    if (const auto at = wanted_.find(ip); at == wanted_.end() || at->second != interface)
      back.emplace_back(ip, interface);
  for (const auto& [ip, interface] : back) lent_.erase(ip);
  std::vector<Job> jobs;
  for (const auto& [ip, interface] : wanted_)
    jobs.push_back({.ip = ip, .interface = interface, .known = lent_.contains(ip), .outcome = {}});
  due_ = false;
  busy_ = true;
  jobs = co_await runtime::blocking(
      runtime_, [socket = socket_, protocol = protocol_, back, jobs]() mutable {
        for (const auto& [ip, interface] : back)
          if (const Result<> gone = take_back(*socket, ip, interface); !gone)
            log::warning("address not removed: it ends by itself",
                         {{"address", ip.to_string()}, {"error", gone.error().to_string()}});
        for (Job& job : jobs) {
          const Result<HostAddress> address = place(job.ip, job.interface);
          if (!address) {
            job.outcome = fail(address.error());
            continue;
          }
          const RouteSocket::Loan loan{*address, protocol, kLentSeconds};
          job.outcome = job.known ? socket->lend(loan, true) : add(*socket, loan);
        }
        return std::move(jobs);
      });
  busy_ = false;
  for (const Job& job : jobs) {
    if (job.outcome) {
      errors_.erase(job.ip);
      lent_[job.ip] = job.interface;
    } else if (wanted_.contains(job.ip) &&
               std::exchange(errors_[job.ip], job.outcome.error().message) !=
                   job.outcome.error().message) {
      log::error("address of a virtual IP not added",
                 {{"vip", job.ip.to_string()}, {"error", job.outcome.error().to_string()}});
    }
  }
}

Task<void> ExpiringAddresses::run() {
  for (;;) {
    if (due_ || !wanted_.empty() || !lent_.empty()) co_await renew();
    settled_.notify();
    if (due_) continue;
    runtime::TimedWait wait(runtime_, changed_, runtime_.now() + kRenewLoans);
    const Result<> woken = co_await wait;
    if (woken || woken.error().code != Code::cancelled) continue;
    wanted_.clear();
    co_await renew();
    co_return;
  }
}

Result<> remove_lent(RouteSocket& socket, std::uint8_t protocol) {
  FL_TRY(const HostState host, socket.observe());
  for (const auto& [address, facts] : host.addresses)
    if (facts.protocol == protocol) {
      FL_CHECKED(socket.apply({AddressChange::Kind::remove, address}));
    }
  return {};
}

}  // namespace fairlead::vip
