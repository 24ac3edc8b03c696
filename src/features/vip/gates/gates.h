// Gates: asks the health gates of all virtual IPs of this node, and tells when a VIP's health
// changes. Runs in the agent; what it tells becomes part of the node's offer (engine.h).
//
// A VIP is well if all its gates are. Gates that are the same for several VIPs are asked once. A
// gate is asked again only after it has answered, so there is at most one question of each under
// way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "features/vip/config/vip_plan.h"
#include "features/vip/gates/health_gate.h"
#include "features/vip/gates/probe.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

// For status and why.
struct GateReport {
  std::string name;
  HealthGate::State state = HealthGate::State::unknown;
  std::string problem;  // of the last answer; empty: it was good, or there is none yet
  WallTime since{};     // of the state
};

class Gates {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    runtime::Processes* processes = nullptr;  // null: commands fail
    metrics::Registry& metrics;
  };
  using Changed = std::function<void(const Ip& vip, bool healthy)>;

  // REQUIRES: one for each registry of metrics.
  Gates(Parts parts, Changed changed);

  // The gates of these VIPs from now on. Those that stay keep their state; a new gate of a VIP that
  // is well does not make it sick before its first answer. Tells the health of each VIP that is new
  // or changed, at once.
  void follow(const std::vector<VipEntry>& vips);

  // Until cancelled.
  Task<void> run();

  bool healthy(const Ip& vip) const;
  std::vector<GateReport> reports(const Ip& vip) const;
  std::size_t size() const { return gates_.size(); }

 private:
  struct Gate {
    Gate(const Parts& parts, const GateConfig& config)
        : probe(parts.runtime, parts.processes, config),
          health(config.rise, config.fall),
          since(parts.runtime.wall_now()) {}
    Probe probe;
    HealthGate health;
    std::vector<Ip> vips;
    std::string problem;
    WallTime since;
    bool wanted = true;
    bool started = false;
    runtime::Signal ended;
  };
  struct Vip {
    std::vector<std::shared_ptr<Gate>> gates;
    bool healthy = false;
  };
  using States = std::map<std::string, bool>;  // by name of gate, whether it is well

  Task<void> watch(std::shared_ptr<Gate> gate);
  void take(Gate& gate, const Result<>& answer);
  void judge(const Ip& vip, bool always_tell);

  Parts parts_;
  Changed changed_;
  metrics::Family<metrics::Counter>& answers_;
  std::shared_ptr<States> states_ = std::make_shared<States>();  // outlives this in the registry
  std::map<std::string, std::shared_ptr<Gate>> gates_;           // by all that makes them different
  std::map<Ip, Vip> vips_;
  runtime::Signal followed_;
};

}  // namespace fairlead::vip
