#include "sim/world/packets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/world/machine.h"
#include "sim/world/network.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using runtime::Datagram;
using runtime::Endpoint;

constexpr std::size_t kEthernetHeader = 14;
constexpr std::size_t kLargestDatagram = 65'507;

// How often and when a packet arrives: never, once or twice.
std::vector<Duration> draw_arrivals(World& world, Link& link, std::size_t bytes) {
  std::vector<Duration> delays;
  if (!link.passes() || link.loses()) return delays;
  delays.push_back(link.arrival(world.now(), bytes) - world.now());
  if (link.duplicates()) delays.push_back(link.arrival(world.now(), bytes) - world.now());
  return delays;
}

class SimDatagramSocket final : public runtime::DatagramSocket {
 public:
  SimDatagramSocket(Network& network, DatagramPlane& plane,
                    std::shared_ptr<DatagramPlane::Socket> socket)
      : network_(network), plane_(plane), socket_(std::move(socket)) {}
  ~SimDatagramSocket() override { close(); }
  Task<Result<Datagram>> receive() override { return take(socket_); }
  Task<Result<>> send(const Endpoint& to, std::string_view bytes) override {
    co_return send_now(to, bytes);
  }
  Endpoint local() const override { return socket_->local; }
  void close() override { plane_.close(*socket_); }

 private:
  static Task<Result<Datagram>> take(std::shared_ptr<DatagramPlane::Socket> socket) {
    FL_CO_CHECKED(co_await Checkpoint());
    for (;;) {
      if (!socket->open) co_return fail(Code::unavailable, "socket is closed");
      if (!socket->received.empty()) {
        Datagram datagram = std::move(socket->received.front());
        socket->received.pop_front();
        co_return datagram;
      }
      FL_CO_CHECKED(co_await socket->arrived.wait());
    }
  }

  Result<> send_now(const Endpoint& to, std::string_view bytes) {
    if (!socket_->open) return fail(Code::unavailable, "socket is closed");
    if (bytes.size() > kLargestDatagram)
      return fail(errno_error("send to " + to.to_string(), EMSGSIZE));
    const std::optional<std::string> address = network_.resolve(*socket_->machine, to.host);
    if (!address) return fail(Code::unavailable, "resolve " + to.host + ": no address");
    plane_.send(*socket_, *address, to.port, std::string(bytes));
    return {};
  }

  Network& network_;
  DatagramPlane& plane_;
  std::shared_ptr<DatagramPlane::Socket> socket_;
};

class SimPacketSocket final : public runtime::PacketSocket {
 public:
  SimPacketSocket(EthernetSwitch& ethernet, std::shared_ptr<EthernetSwitch::Socket> socket)
      : ethernet_(ethernet), socket_(std::move(socket)) {}
  ~SimPacketSocket() override { close(); }
  Task<Result<std::string>> receive() override { return take(socket_); }
  Task<Result<>> send(std::string_view frame) override {
    co_return ethernet_.send(*socket_, frame);
  }
  void close() override { ethernet_.close(*socket_); }

 private:
  static Task<Result<std::string>> take(std::shared_ptr<EthernetSwitch::Socket> socket) {
    FL_CO_CHECKED(co_await Checkpoint());
    for (;;) {
      if (!socket->open) co_return fail(Code::unavailable, "socket is closed");
      if (!socket->received.empty()) {
        std::string frame = std::move(socket->received.front());
        socket->received.pop_front();
        co_return frame;
      }
      FL_CO_CHECKED(co_await socket->arrived.wait());
    }
  }

  EthernetSwitch& ethernet_;
  std::shared_ptr<EthernetSwitch::Socket> socket_;
};

EthernetSwitch::MacBytes mac_at(std::string_view frame, std::size_t offset) {
  EthernetSwitch::MacBytes mac;
  std::memcpy(mac.data(), frame.data() + offset, mac.size());
  return mac;
}

bool is_group(const EthernetSwitch::MacBytes& mac) { return (mac[0] & 1) != 0; }

}  // namespace

Result<std::unique_ptr<runtime::DatagramSocket>> DatagramPlane::open(Machine& at,
                                                                     const Endpoint& endpoint) {
  Endpoint local = endpoint;
  if (local.port == 0) {
    std::uint16_t& port = ports_[at.id()];
    port = port < 32'768 || port == 65'535 ? 32'768 : port + 1;
    local.port = port;
  }
  if (local.host.empty() || local.host == "0.0.0.0" || local.host == "::")
    local.host = at.address();
  const Key key(at.id(), local.port);
  if (sockets_.contains(key)) return fail(errno_error("bind " + endpoint.to_string(), EADDRINUSE));
  auto socket = std::make_shared<Socket>();
  socket->machine = &at;
  socket->local = local;
  sockets_.emplace(key, socket);
  return std::make_unique<SimDatagramSocket>(network_, *this, std::move(socket));
}

void DatagramPlane::send(Socket& from, const std::string& address, std::uint16_t port,
                         std::string bytes) {
  World& world = network_.world();
  Machine* target = network_.holder(*from.machine, address);
  if (!target) return;
  Machine* sender = from.machine;
  Link& link = network_.link(*sender, *target);
  const std::vector<Duration> arrivals = draw_arrivals(world, link, bytes.size());
  if (arrivals.empty()) world.record(Happening::drop, sender->id(), target->id(), bytes.size());
  for (const Duration delay : arrivals) {
    Datagram datagram{.from = from.local, .bytes = bytes};
    world.after(delay, [this, sender, target, port, sent = std::move(datagram)]() mutable {
      arrive(*sender, *target, port, std::move(sent));
    });
  }
}

void DatagramPlane::arrive(Machine& from, Machine& to, std::uint16_t port, Datagram datagram) {
  World& world = network_.world();
  const auto found = sockets_.find({to.id(), port});
  const bool lost = found == sockets_.end() || !to.up() || !network_.link(from, to).passes() ||
                    found->second->received.size() >= kReceiveQueue;
  world.record(lost ? Happening::drop : Happening::datagram, from.id(), to.id(),
               datagram.bytes.size(), port, hash_bytes(datagram.bytes));
  if (lost) return;
  found->second->received.push_back(std::move(datagram));
  found->second->arrived.open();
}

void DatagramPlane::close(Socket& socket) {
  if (!std::exchange(socket.open, false)) return;
  sockets_.erase({socket.machine->id(), socket.local.port});
  socket.arrived.open();
}

void DatagramPlane::machine_died(Machine& machine) {
  std::erase_if(sockets_, [&machine](const auto& entry) {
    if (entry.second->machine != &machine) return false;
    entry.second->open = false;
    return true;
  });
}

EthernetSwitch::MacBytes EthernetSwitch::mac_of(const Machine& machine) {
  const std::uint32_t id = machine.id();
  return {0x02, 0, 0, 0, static_cast<std::uint8_t>(id >> 8), static_cast<std::uint8_t>(id)};
}

Result<std::unique_ptr<runtime::PacketSocket>> EthernetSwitch::open(Machine& at,
                                                                    const std::string& interface,
                                                                    std::uint16_t ethertype) {
  if (interface != "eth0") return fail(errno_error("open " + interface, ENODEV));
  auto socket = std::make_shared<Socket>();
  socket->machine = &at;
  socket->ethertype = ethertype;
  sockets_.push_back(socket);
  return std::make_unique<SimPacketSocket>(*this, std::move(socket));
}

Result<> EthernetSwitch::send(Socket& from, std::string_view frame) {
  if (!from.open) return fail(Code::unavailable, "socket is closed");
  if (frame.size() < kEthernetHeader) return fail(errno_error("send frame", EINVAL));
  learned_[mac_at(frame, 6)] = from.machine;
  const MacBytes to = mac_at(frame, 0);
  const auto known = learned_.find(to);
  if (!is_group(to) && known != learned_.end()) {
    if (known->second != from.machine) forward(*from.machine, *known->second, std::string(frame));
    return {};
  }
  for (const auto& machine : network_.world().machines())
    if (machine.get() != from.machine) forward(*from.machine, *machine, std::string(frame));
  return {};
}

void EthernetSwitch::forward(Machine& from, Machine& to, std::string frame) {
  World& world = network_.world();
  const std::vector<Duration> arrivals =
      draw_arrivals(world, network_.link(from, to), frame.size());
  if (arrivals.empty()) world.record(Happening::drop, from.id(), to.id(), frame.size());
  for (const Duration delay : arrivals)
    world.after(delay, [this, &from, &to, frame] { arrive(from, to, frame); });
}

void EthernetSwitch::arrive(Machine& from, Machine& to, const std::string& frame) {
  const MacBytes target = mac_at(frame, 0);
  const auto type = static_cast<std::uint16_t>((static_cast<std::uint8_t>(frame[12]) << 8) |
                                               static_cast<std::uint8_t>(frame[13]));
  if (!to.up() || !network_.link(from, to).passes()) return;
  if (!is_group(target) && target != mac_of(to)) return;
  network_.world().record(Happening::frame, from.id(), to.id(), frame.size(), type,
                          hash_bytes(frame));
  for (const auto& socket : sockets_) {
    if (socket->machine != &to || socket->received.size() >= kReceiveQueue) continue;
    if (socket->ethertype != kEveryType && socket->ethertype != type) continue;
    socket->received.push_back(frame);
    socket->arrived.open();
  }
}

void EthernetSwitch::close(Socket& socket) {
  if (!std::exchange(socket.open, false)) return;
  std::erase_if(sockets_, [&socket](const auto& entry) { return entry.get() == &socket; });
  socket.arrived.open();
}

void EthernetSwitch::machine_died(Machine& machine) {
  std::erase_if(sockets_, [&machine](const auto& socket) {
    if (socket->machine != &machine) return false;
    socket->open = false;
    return true;
  });
}

}  // namespace fairlead::sim
