// Datagrams and Ethernet frames: lost, doubled and overtaking each other as the links decide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/runtime/stream.h"
#include "sim/world/gate.h"

namespace fairlead::sim {

class Machine;
class Network;

class DatagramPlane {
 public:
  explicit DatagramPlane(Network& network) : network_(network) {}

  struct Socket {  // the kernel's side
    Machine* machine = nullptr;
    runtime::Endpoint local;
    bool open = true;
    std::deque<runtime::Datagram> received;
    Gate arrived;
  };
  static constexpr std::size_t kReceiveQueue = 256;  // further ones are dropped, as kernels do

  Result<std::unique_ptr<runtime::DatagramSocket>> open(Machine& at,
                                                        const runtime::Endpoint& endpoint);
  void send(Socket& from, const std::string& address, std::uint16_t port, std::string bytes);
  void close(Socket& socket);
  void machine_died(Machine& machine);

 private:
  using Key = std::pair<std::uint32_t, std::uint16_t>;  // machine, port
  void arrive(Machine& from, Machine& to, std::uint16_t port, runtime::Datagram datagram);

  Network& network_;
  std::map<Key, std::shared_ptr<Socket>> sockets_;
  std::map<std::uint32_t, std::uint16_t> ports_;
};

// One switch that all machines are plugged into with "eth0": it learns where addresses are from
// what they send, and floods what it does not know.
class EthernetSwitch {
 public:
  using MacBytes = std::array<std::uint8_t, 6>;
  static constexpr std::uint16_t kEveryType = 3;  // ETH_P_ALL

  explicit EthernetSwitch(Network& network) : network_(network) {}

  struct Socket {
    Machine* machine = nullptr;
    std::uint16_t ethertype = kEveryType;
    bool open = true;
    std::deque<std::string> received;
    Gate arrived;
  };
  static constexpr std::size_t kReceiveQueue = 1'024;

  // 02:00:00:00:00:id
  static MacBytes mac_of(const Machine& machine);
  Result<std::unique_ptr<runtime::PacketSocket>> open(Machine& at, const std::string& interface,
                                                      std::uint16_t ethertype);
  Result<> send(Socket& from, std::string_view frame);
  void close(Socket& socket);
  void machine_died(Machine& machine);

 private:
  void forward(Machine& from, Machine& to, std::string frame);
  void arrive(Machine& from, Machine& to, const std::string& frame);

  Network& network_;
  std::vector<std::shared_ptr<Socket>> sockets_;  // in order of opening
  std::map<MacBytes, Machine*> learned_;
};

}  // namespace fairlead::sim
