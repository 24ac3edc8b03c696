// OvsFabric: virtual networks on Open vSwitch, through its database (ports) and its bridge's
// control socket (flows). Needs Open vSwitch 2.11 or newer, kernel or userspace datapath.
//
// One bridge is ours, marked as such in the database; other bridges are not looked at. It has one
// VXLAN port for all tunnels and a port for each local attachment: the host's end of a veth pair,
// because an internal port of a userspace datapath that was moved into a guest is lost when
// ovs-vswitchd restarts.
//
// On a kernel datapath of our own a restart of ovs-vswitchd stops no traffic: see restart.h.
//
// What an attachment is stands in the record beside its port, so that a new process adopts it; what
// its flows are is compared by fingerprints, so that the process need not hold all of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"
#include "node/fabric/fabric.h"
#include "node/fabric/ovs/guest_links.h"
#include "node/fabric/ovs/openflow_client.h"
#include "node/fabric/ovs/ovsdb_client.h"
#include "node/fabric/ovs/plan.h"
#include "node/fabric/ovs/restart.h"

namespace fairlead::fabric::ovs {

// What VXLAN takes of the underlay's MTU.
constexpr std::uint32_t tunnel_headers(bool over_ipv6) { return over_ipv6 ? 70 : 50; }

struct OvsOptions {
  std::string run_directory = "/var/run/openvswitch";  // with db.sock and the bridge's socket
  std::string bridge = "fairlead";
  std::string datapath_type;   // "netdev" for the userspace datapath; empty: the kernel's
  std::optional<Ip> local_ip;  // the tunnel's own end; nullopt: as the host routes
  std::uint32_t mtu =
      0;  // of attachments; 0: what tunnels leave of that of the interface with local_ip
};

// Marks the fabric busy as long as it lives; then notifies those that wait until it is idle.
class Busy {
 public:
  Busy(int& count, runtime::Signal& idle) : count_(count), idle_(idle) { ++count_; }
  ~Busy() {
    if (--count_ == 0) idle_.notify();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  int& count_;
  runtime::Signal& idle_;
};

class OvsFabric final : public Fabric {
 public:
  OvsFabric(runtime::Runtime& runtime, OvsOptions options);

  std::string_view name() const override { return "ovs"; }
  Task<Result<>> open() override;
  std::vector<Station> local_stations() const override;
  Task<std::vector<Outcome>> apply(const Desired& desired,
                                   std::span<const std::string> ids) override;
  Task<Result<Audit>> audit(const Desired& desired) override;
  runtime::Signal& disturbed() override { return disturbed_; }
  std::uint32_t mtu() const override { return mtu_; }

 private:
  using Failures = std::map<std::string, Error, std::less<>>;

  // Connecting, and what the bridge has in any case.
  Task<Result<>> connect();
  Task<Result<>> ensure_bridge();
  Task<Result<>> ensure_tunnel();
  Task<Result<>> connect_bridge();
  Task<Result<>> observe_flows();
  Task<Result<>> observe_links();
  Task<Result<>> observe_mtu();
  Task<void> keep_connected();
  Task<Result<>> wait_connected();
  Task<void> add_lanes();
  bool bridge_connected() const { return openflow_.front()->connected(); }
  bool connected() const { return ready_ && ovsdb_.connected() && bridge_connected(); }

  // What the database tells.
  void on_row(const std::string& table, const std::string& uuid, const wire::ovsdb::Row* row);
  void on_switch(const wire::ovsdb::Row* row);
  void on_interface(const std::string& uuid, const wire::ovsdb::Row* row);
  void notice_restart_step();
  void on_end(const Error& error);

  // The steps of apply(). Failures of single stations are noted, and the steps go on.
  Task<std::set<std::string>> bring(const Desired& desired, const std::vector<std::string>& ids,
                                    std::vector<FlowChange> more, Failures& failures);
  Task<void> make_interfaces(const Desired& desired, const PortPlan& plan,
                             std::set<std::string>& made, Failures& failures);
  Task<void> make_links(const Desired& desired, const std::vector<std::string>& ids,
                        Failures& failures);
  Task<void> make_ports(const Desired& desired, const std::vector<std::string>& ids,
                        Failures& failures);
  Task<Result<>> insert_ports(const Desired& desired, const std::vector<std::string>& ids);
  Task<void> update_records(const Desired& desired, const std::vector<std::string>& ids,
                            Failures& failures);
  Task<void> set_mtus(const Desired& desired, const std::vector<std::string>& ids,
                      Failures& failures);
  Task<void> wait_numbers(const Desired& desired, const std::vector<std::string>& ids,
                          Failures& failures);
  Task<void> change_flows(std::vector<FlowChange> changes, Failures& failures);
  Task<void> change_share(OpenFlowClient& client, std::vector<FlowChange> changes,
                          Failures& failures);
  Task<void> remove_ports(const std::vector<std::string>& ids, Failures& failures);
  Task<Result<>> settle();
  Task<Result<>> prepare_restart();
  RestartView restart_view() const;

  runtime::Runtime& runtime_;
  OvsOptions options_;
  std::uint32_t mtu_ = 0;  // not known yet
  runtime::Signal disturbed_;
  runtime::Signal rows_changed_;
  runtime::Signal connection_changed_;  // or not busy any more

  Observed observed_;
  std::vector<std::string> half_made_;  // interfaces that nobody is making any more
  std::map<std::string, std::string, std::less<>> bridges_;       // name → UUID
  std::map<std::string, std::string, std::less<>> bridge_marks_;  // name → whose
  std::map<std::string, std::string, std::less<>> port_names_;    // UUID → name
  std::map<std::string, std::string, std::less<>> port_uuids_;    // name → UUID
  std::map<std::string, std::string, std::less<>> interfaces_;    // UUID → attachment
  std::string tunnel_interface_;                                  // UUID
  std::int64_t tunnel_ = 0;                                       // port number
  std::int64_t current_config_ = 0;  // what the switch has carried out, as it counts
  bool waits_ = false;               // what the database says the switch does when it starts
  bool waits_for_us_ = false;        // and it was us who said it
  bool started_ = false;             // the switch may have started, and wait
  bool ready_ = false;               // connected, prepared, observed
  int changing_ = 0;                 // above 0: what rows tell now is our own doing
  bool missed_ = false;              // while changing: something else moved, look again
  bool kept_ = false;

  OvsdbClient ovsdb_;
  // The first is the one that counts; the others share the work with it, as far as they are there
  // (share_flows()).
  std::vector<std::unique_ptr<OpenFlowClient>> openflow_;
  bool adding_lanes_ = false;
  runtime::Scope scope_;  // last: its tasks use all of the above
};

}  // namespace fairlead::fabric::ovs
