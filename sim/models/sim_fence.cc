#include "sim/models/sim_fence.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead::sim {

void FenceJudge::opened(const SimFence& by, const Ip& vip) {
  for (const SimFence* fence : fences_)
    if (fence != &by && fence->answers(vip))
      violations.push_back(fmt::format("{} answers for {} while {} does", by.machine().name(),
                                       vip.to_string(), fence->machine().name()));
  std::string& name = last[vip];
  if (name == by.machine().name()) return;
  name = by.machine().name();
  ++opened_first;
  world_.note(vip.to_string() + " is held by " + name);
}

bool SimFence::answers(const Ip& vip) const {
  if (power_losses_ != machine_.power_losses()) return false;  // a killed process is no dead kernel
  const auto at = gates_.find(vip);
  if (at == gates_.end()) return false;
  const Moment now = judge_.world().now();
  if (now < at->second.queued_until) return true;
  // What passed in the last moment before the deadline is in the queue for less than the margin.
  return at->second.deadline != Instant{} &&
         now < machine_.clock().when(at->second.deadline) + margin_ * 9 / 10;
}

std::map<Ip, SimFence::Gate>& SimFence::gates() {
  if (std::exchange(power_losses_, machine_.power_losses()) != machine_.power_losses())
    gates_.clear();
  return gates_;
}

void SimFence::shut(Gate& gate) {
  const Moment now = judge_.world().now();
  if (gate.deadline != Instant{} && machine_.now() < gate.deadline)
    gate.queued_until = now + margin_ * 9 / 10;
  gate.deadline = {};
}

Result<> SimFence::usable(const Ip&, const std::string& interface) {
  if (carrier_) return {};
  return fail(Code::unavailable, "interface " + interface + " has no carrier");
}

std::optional<Mac> SimFence::rival(const Ip&) {
  if (stranger_) return Mac({2, 0, 0, 0, 0, 0x66});
  return std::nullopt;
}

void SimFence::set_carrier(bool on) {
  carrier_ = on;
  changed_.notify();
}

Result<> SimFence::watch(const Ip& vip, const std::string&) {
  gates().try_emplace(vip);
  return {};
}

Result<> SimFence::open_until(const Ip& vip, Instant deadline) {
  Gate& gate = gates()[vip];
  gate.deadline = deadline;
  if (machine_.now() < deadline) judge_.opened(*this, vip);
  return {};
}

Result<> SimFence::close(const Ip& vip) {
  shut(gates()[vip]);
  return {};
}

void SimFence::close_all() {
  for (auto& [vip, gate] : gates()) shut(gate);
}

Result<> SimFence::forget(const Ip& vip) {
  gates().erase(vip);
  return {};
}

}  // namespace fairlead::sim
