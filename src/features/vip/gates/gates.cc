#include "features/vip/gates/gates.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

// The same for gates that ask the same question in the same way.
std::string key_of(const GateConfig& gate) {
  const char separator = '\0';
  std::string key =
      fmt::format("{}{}{}{}{}{}{}{}{}{}", gate.name, separator, gate.host, separator, gate.ca_file,
                  separator, gate.insecure, separator, fmt::join(gate.status, ","), separator);
  key +=
      fmt::format("{} {} {} {}", gate.interval.count(), gate.timeout.count(), gate.rise, gate.fall);
  for (const std::string& word : gate.command) key.append(word).push_back(separator);
  return key;
}

}  // namespace

Gates::Gates(Parts parts, Changed changed)
    : parts_(parts),
      changed_(std::move(changed)),
      answers_(parts.metrics.counters("fairlead_vip_gate_answers_total",
                                      "Answers of health gates of virtual IPs.",
                                      {"gate", "outcome"})) {
  parts.metrics.gauges_of("fairlead_vip_gate_well",
                          "Whether a health gate of virtual IPs is well: 1, or 0.", {"gate"},
                          [states = states_] {
                            metrics::Registry::Readings readings;
                            for (const auto& [name, well] : *states)
                              readings.push_back({{name}, well ? 1.0 : 0.0});
                            return readings;
                          });
}

void Gates::follow(const std::vector<VipEntry>& entries) {
  std::map<std::string, std::shared_ptr<Gate>> before = std::exchange(gates_, {});
  std::map<Ip, Vip> known = std::exchange(vips_, {});
  states_->clear();
  for (const auto& [key, gate] : before) gate->vips.clear();
  for (const VipEntry& entry : entries) {
    Vip& vip = vips_[entry.vip.address];
    for (const GateConfig& config : entry.gates) {
      const std::string key = key_of(config);
      std::shared_ptr<Gate>& gate = gates_[key];
      if (!gate)
        if (const auto old = before.find(key); old != before.end()) gate = old->second;
      if (!gate) gate = std::make_shared<Gate>(parts_, config);
      if (std::ranges::find(gate->vips, entry.vip.address) == gate->vips.end())
        gate->vips.push_back(entry.vip.address);
      vip.gates.push_back(gate);
      (*states_)[config.name] = gate->health.state() == HealthGate::State::well;
    }
  }
  for (const auto& [key, gate] : before) {
    if (gates_.contains(key)) continue;
    gate->wanted = false;
    gate->ended.notify();
  }
  for (auto& [address, vip] : vips_) {
    const auto old = known.find(address);
    vip.healthy = old != known.end() && old->second.healthy;
    judge(address, old == known.end());
  }
  followed_.notify();
}

// A gate without an answer leaves things as they are: nothing is taken up or given up for it.
void Gates::judge(const Ip& address, bool always_tell) {
  Vip& vip = vips_.at(address);
  const bool healthy = std::ranges::all_of(vip.gates, [&](const std::shared_ptr<Gate>& gate) {
    const HealthGate::State state = gate->health.state();
    return state == HealthGate::State::well || (state == HealthGate::State::unknown && vip.healthy);
  });
  if (healthy == vip.healthy && !always_tell) return;
  vip.healthy = healthy;
  changed_(address, healthy);
}

Task<void> Gates::run() {
  runtime::Scope scope(parts_.runtime);
  for (;;) {
    for (const auto& [key, gate] : gates_) {
      if (std::exchange(gate->started, true)) continue;
      scope.spawn(watch(gate));
    }
    if (const Result<> woken = co_await followed_.wait(); !woken) break;
  }
  co_await scope.close();
}

Task<void> Gates::watch(std::shared_ptr<Gate> gate) {
  while (gate->wanted) {
    const Result<> answer = co_await gate->probe.ask();
    if (!answer && answer.error().code == Code::cancelled) co_return;
    if (!gate->wanted) co_return;
    take(*gate, answer);
    const Duration pause = jittered(gate->probe.gate().interval, parts_.runtime.random());
    runtime::TimedWait wait(parts_.runtime, gate->ended, parts_.runtime.now() + pause);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
  }
}

void Gates::take(Gate& gate, const Result<>& answer) {
  const std::string& name = gate.probe.gate().name;
  gate.problem = answer ? "" : answer.error().message;
  answers_.with({name, answer ? "good" : "bad"}).add();
  if (!gate.health.answered(answer.has_value())) return;
  const bool well = gate.health.state() == HealthGate::State::well;
  gate.since = parts_.runtime.wall_now();
  (*states_)[name] = well;
  if (well)
    log::info("a health gate is well", {{"gate", name}});
  else
    log::warning("a health gate is sick", {{"gate", name}, {"reason", gate.problem}});
  const std::vector<Ip> vips = gate.vips;  // telling may change them
  for (const Ip& vip : vips)
    if (vips_.contains(vip)) judge(vip, false);
}

bool Gates::healthy(const Ip& vip) const {
  const auto at = vips_.find(vip);
  return at != vips_.end() && at->second.healthy;
}

std::vector<GateReport> Gates::reports(const Ip& vip) const {
  std::vector<GateReport> reports;
  const auto at = vips_.find(vip);
  if (at == vips_.end()) return reports;
  for (const std::shared_ptr<Gate>& gate : at->second.gates)
    reports.push_back({.name = gate->probe.gate().name,
                       .state = gate->health.state(),
                       .problem = gate->problem,
                       .since = gate->since});
  return reports;
}

}  // namespace fairlead::vip
