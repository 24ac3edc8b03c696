// Network: how the machines of a world reach one another.
//
// Streams behave like TCP: in order, with back-pressure, and with loss and cuts shown as the delay
// of retransmission; refused when nobody listens; reset when the other side crashed and came back.
// Datagrams and Ethernet frames are lost, doubled and reordered. What a machine sends to itself is
// never disturbed.
//
// The parts: Link (sim/world/link.h) has the delays and cuts, TcpStack (sim/world/tcp.h) the
// streams, DatagramPlane and EthernetSwitch (sim/world/packets.h) the rest; TLS (sim/world/tls.h)
// sits on top of streams.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "sim/world/link.h"

namespace fairlead::sim {

class World;
class Machine;
class TcpStack;
class TlsLayer;
class DatagramPlane;
class EthernetSwitch;

class Network {
 public:
  Network(World& world, LinkSettings settings);
  ~Network();

  // --- faults and settings, for scenarios ---
  Link& link(const Machine& from, const Machine& to);
  // Applies to every link that exists and to those to come.
  void set_all(const LinkSettings& settings);
  void cut(Machine& from, Machine& to);  // one way
  void heal(Machine& from, Machine& to);
  void cut_both(Machine& a, Machine& b);
  void heal_both(Machine& a, Machine& b);
  // No machine of one side reaches one of the other; within a side all is well.
  void split(const std::vector<Machine*>& side, const std::vector<Machine*>& other);
  void isolate(Machine& machine);  // from every other machine, both ways
  void heal_all();                 // every cut, whoever made it

  // --- names and addresses ---
  // A further address of a machine, such as a VIP. With several holders the last one to add it gets
  // the traffic, as with gratuitous ARP.
  void add_address(Machine& machine, const std::string& address);
  void remove_address(Machine& machine, const std::string& address);
  void add_name(std::string name, std::string address);  // DNS
  std::optional<std::string> resolve(const Machine& from, const std::string& host) const;
  Machine* holder(const Machine& from, const std::string& address) const;
  bool has_address(const Machine& machine, const std::string& address) const;

  // --- for Machine ---
  void machine_added(Machine& machine);
  // The machine's sockets vanish, silently or with a reset to every peer.
  void machine_died(Machine& machine, bool reset);
  Task<Result<std::unique_ptr<runtime::Stream>>> connect(
      Machine& from, runtime::Endpoint to, std::shared_ptr<const runtime::TlsCredentials> tls);
  Result<std::unique_ptr<runtime::Listener>> listen(Machine& at, const runtime::Endpoint& endpoint,
                                                    std::shared_ptr<const runtime::TlsSource> tls);
  Result<std::unique_ptr<runtime::DatagramSocket>> open_datagram(Machine& at,
                                                                 const runtime::Endpoint& endpoint);
  Result<std::unique_ptr<runtime::PacketSocket>> open_packet(Machine& at,
                                                             const std::string& interface,
                                                             std::uint16_t ethertype);

  World& world() { return world_; }

 private:
  World& world_;
  LinkSettings settings_;
  LinkSettings loopback_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Link> links_;
  std::map<std::string, std::vector<Machine*>> addresses_;  // last one gets the traffic
  std::map<std::string, std::string> names_;
  std::unique_ptr<TlsLayer> tls_;
  std::unique_ptr<TcpStack> tcp_;
  std::unique_ptr<DatagramPlane> datagrams_;
  std::unique_ptr<EthernetSwitch> ethernet_;
};

}  // namespace fairlead::sim
