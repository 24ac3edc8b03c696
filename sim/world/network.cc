#include "sim/world/network.h"

#include <algorithm>
#include <utility>

#include "sim/world/machine.h"
#include "sim/world/packets.h"
#include "sim/world/tcp.h"
#include "sim/world/tls.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

LinkSettings loopback_settings(LinkSettings settings) {
  settings.latency = {.least = 5us, .spread = 10us};
  settings.loss_per_million = 0;
  settings.duplicate_per_million = 0;
  settings.bytes_per_second = 0;
  return settings;
}

}  // namespace

Network::Network(World& world, LinkSettings settings)
    : world_(world),
      settings_(settings),
      loopback_(loopback_settings(settings)),
      tls_(std::make_unique<TlsLayer>()),
      tcp_(std::make_unique<TcpStack>(*this)),
      datagrams_(std::make_unique<DatagramPlane>(*this)),
      ethernet_(std::make_unique<EthernetSwitch>(*this)) {}

Network::~Network() = default;

Link& Network::link(const Machine& from, const Machine& to) {
  const std::pair key(from.id(), to.id());
  if (const auto found = links_.find(key); found != links_.end()) return found->second;
  const Random random = world_.random_stream("link/" + from.name() + "/" + to.name());
  return links_.emplace(key, Link(random, &from == &to ? loopback_ : settings_)).first->second;
}

void Network::set_all(const LinkSettings& settings) {
  settings_ = settings;
  loopback_ = loopback_settings(settings);
  for (auto& [ends, link] : links_) link.set(ends.first == ends.second ? loopback_ : settings_);
}

void Network::cut(Machine& from, Machine& to) {
  if (&from == &to) return;
  world_.record(Happening::cut, from.id(), to.id());
  link(from, to).cut();
}

void Network::heal(Machine& from, Machine& to) {
  if (&from == &to) return;
  world_.record(Happening::heal, from.id(), to.id());
  link(from, to).heal();
}

void Network::cut_both(Machine& a, Machine& b) {
  cut(a, b);
  cut(b, a);
}

void Network::heal_both(Machine& a, Machine& b) {
  heal(a, b);
  heal(b, a);
}

void Network::split(const std::vector<Machine*>& side, const std::vector<Machine*>& other) {
  for (Machine* a : side)
    for (Machine* b : other) cut_both(*a, *b);
}

void Network::isolate(Machine& machine) {
  for (const auto& other : world_.machines()) cut_both(machine, *other);
}

void Network::heal_all() {
  world_.record(Happening::heal, 0);
  for (auto& [ends, link] : links_) link.heal_fully();
}

void Network::add_address(Machine& machine, const std::string& address) {
  std::vector<Machine*>& holders = addresses_[address];
  std::erase(holders, &machine);
  holders.push_back(&machine);
}

void Network::remove_address(Machine& machine, const std::string& address) {
  std::erase(addresses_[address], &machine);
}

void Network::add_name(std::string name, std::string address) {
  names_[std::move(name)] = std::move(address);
}

std::optional<std::string> Network::resolve(const Machine& from, const std::string& host) const {
  if (host == "localhost") return "127.0.0.1";
  if (is_loopback(host) || addresses_.contains(host)) return host;
  if (const auto found = names_.find(host); found != names_.end()) return found->second;
  // An address that nobody has is still one to send to.
  const bool looks_like_address =
      !host.empty() && (host.find_first_not_of("0123456789.") == std::string::npos ||
                        host.find(':') != std::string::npos);
  if (looks_like_address) return host;
  if (host.empty()) return from.address();
  return std::nullopt;
}

Machine* Network::holder(const Machine& from, const std::string& address) const {
  if (is_loopback(address)) {
    for (const auto& machine : world_.machines())
      if (machine.get() == &from) return machine.get();
  }
  const auto found = addresses_.find(address);
  if (found == addresses_.end() || found->second.empty()) return nullptr;
  // A machine that holds an address itself never sends to it over the wire.
  for (Machine* machine : found->second)
    if (machine == &from) return machine;
  return found->second.back();
}

bool Network::has_address(const Machine& machine, const std::string& address) const {
  if (is_loopback(address)) return true;
  const auto found = addresses_.find(address);
  return found != addresses_.end() &&
         std::ranges::find(found->second, &machine) != found->second.end();
}

void Network::machine_added(Machine& machine) {
  add_address(machine, machine.address());
  add_name(machine.name(), machine.address());
}

void Network::machine_died(Machine& machine, bool reset) {
  tcp_->machine_died(machine, reset);
  datagrams_->machine_died(machine);
  ethernet_->machine_died(machine);
}

Task<Result<std::unique_ptr<runtime::Stream>>> Network::connect(
    Machine& from, runtime::Endpoint to, std::shared_ptr<const runtime::TlsCredentials> tls) {
  runtime::Endpoint target = to;
  if (to.kind == runtime::Endpoint::Kind::tcp) {
    const std::optional<std::string> address = resolve(from, to.host);
    if (!address) co_return fail(Code::unavailable, "resolve " + to.host + ": no address");
    target.host = *address;
  }
  FL_CO_TRY(std::unique_ptr<runtime::Stream> plain, co_await tcp_->dial(from, std::move(target)));
  if (!tls) co_return plain;
  co_return co_await tls_->connect(from, std::move(plain), std::move(tls), to.host);
}

Result<std::unique_ptr<runtime::Listener>> Network::listen(
    Machine& at, const runtime::Endpoint& endpoint, std::shared_ptr<const runtime::TlsSource> tls) {
  FL_TRY(std::unique_ptr<runtime::Listener> plain, tcp_->listen(at, endpoint));
  if (!tls) return plain;
  return tls_->listen(at, std::move(plain), std::move(tls));
}

Result<std::unique_ptr<runtime::DatagramSocket>> Network::open_datagram(
    Machine& at, const runtime::Endpoint& endpoint) {
  return datagrams_->open(at, endpoint);
}

Result<std::unique_ptr<runtime::PacketSocket>> Network::open_packet(Machine& at,
                                                                    const std::string& interface,
                                                                    std::uint16_t ethertype) {
  return ethernet_->open(at, interface, ethertype);
}

}  // namespace fairlead::sim
