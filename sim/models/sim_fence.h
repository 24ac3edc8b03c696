// SimFence: the kernel's fence of one machine. It outlives the processes: only a loss of power or
// the deadline closes it. What passed it may wait in the machine's queue for up to the margin.
//
// FenceJudge: promise 2. Looks at every fence whenever one is opened: nobody else may answer then.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "features/vip/engine/interfaces.h"
#include "features/vip/fence/fence.h"
#include "sim/checkers/checkers.h"
#include "sim/world/machine.h"
#include "sim/world/world.h"

namespace fairlead::sim {

class SimFence;

class FenceJudge {
 public:
  explicit FenceJudge(World& world) : world_(world) {}
  void add(SimFence& fence) { fences_.push_back(&fence); }
  void opened(const SimFence& by, const Ip& vip);

  Violations violations;
  std::size_t opened_first = 0;  // how often a VIP came to another machine
  std::map<Ip, std::string> last;
  World& world() { return world_; }

 private:
  World& world_;
  std::vector<SimFence*> fences_;
};

class SimFence final : public vip::Fence, public vip::Interfaces {
 public:
  SimFence(Machine& machine, FenceJudge& judge, Duration margin)
      : machine_(machine), judge_(judge), margin_(margin) {
    judge.add(*this);
  }

  Machine& machine() { return machine_; }
  const Machine& machine() const { return machine_; }
  // Whether something of this machine for the VIP may reach the wire now.
  bool answers(const Ip& vip) const;

  // vip::Fence
  Result<> watch(const Ip& vip, const std::string& interface) override;
  Result<> open_until(const Ip& vip, Instant deadline) override;
  Result<> close(const Ip& vip) override;
  void close_all() override;
  Result<> forget(const Ip& vip) override;
  Result<std::vector<vip::FencedVip>> list() const override {
    return std::vector<vip::FencedVip>{};
  }

  // vip::Interfaces
  Result<> usable(const Ip&, const std::string& interface) override;
  runtime::Signal& changed() override { return changed_; }
  std::optional<Mac> rival(const Ip& vip) override;
  bool absent(const Ip&) override { return false; }
  void hold(const Ip&, const std::string&) override {}
  void leaving(const Ip&) override {}
  void let_go(const Ip&) override {}
  void announce(const Ip&) override {}
  Task<void> settled() override { co_return; }
  std::map<Ip, vip::HoldReport> report() const override { return {}; }

  // The carrier of all interfaces.
  void set_carrier(bool on);
  // Some other machine has the VIP.
  void set_stranger(bool there) { stranger_ = there; }

 private:
  struct Gate {
    Instant deadline{};     // on the machine's clock
    Moment queued_until{};  // when the queue has drained after it was closed early
  };
  void shut(Gate& gate);
  // The kernel of a machine that lost its power knows nothing.
  std::map<Ip, Gate>& gates();

  Machine& machine_;
  FenceJudge& judge_;
  Duration margin_;
  std::uint32_t power_losses_ = 0;  // of the machine when the gates were last touched
  std::map<Ip, Gate> gates_;
  bool carrier_ = true;
  bool stranger_ = false;
  runtime::Signal changed_;
};

}  // namespace fairlead::sim
