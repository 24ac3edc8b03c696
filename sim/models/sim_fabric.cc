#include "sim/models/sim_fabric.h"

#include <fmt/format.h>

#include <variant>

#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

constexpr fabric::Vni kStrayVni = 999;  // nobody's: what strangers leave harms no one

}  // namespace

HostPlane::HostPlane(Machine& machine, Changed changed)
    : machine_(machine),
      changed_(std::move(changed)),
      random_(machine.world().random_stream("plane/" + machine.name())) {}

const HostPlane::Interface* HostPlane::interface(const std::string& name) const {
  const auto at = interfaces_.find(name);
  return at == interfaces_.end() ? nullptr : &at->second;
}

void HostPlane::lose_power() {
  stations_.clear();
  interfaces_.clear();
}

void HostPlane::put(const fabric::Station& station) {
  const auto before = stations_.find(station.id);
  const bool was_local = before != stations_.end() && before->second.local();
  if (was_local && before->second.interface != station.interface)
    interfaces_.erase(before->second.interface);
  if (station.local() && !interfaces_.contains(station.interface))
    interfaces_[station.interface] = {station.id, ++interfaces_made_, machine_.boot()};
  stations_.insert_or_assign(station.id, station);
  machine_.note(fmt::format("carries {} {} {}", station.id, station.addresses.front().to_string(),
                            station.local() ? station.interface : station.host.to_string()));
  changed_(station.id, &station);
}

void HostPlane::remove(const std::string& id) {
  const auto at = stations_.find(id);
  if (at == stations_.end()) return;
  if (at->second.local()) interfaces_.erase(at->second.interface);
  stations_.erase(at);
  machine_.note("dropped " + id);
  changed_(id, nullptr);
}

void HostPlane::disturb() {
  if (!machine_.up()) return;
  ++counts_.disturbances;
  auto victim = stations_.begin();
  if (!stations_.empty())
    std::advance(victim, static_cast<std::ptrdiff_t>(random_.below(stations_.size())));
  switch (random_.below(4)) {
    case 0:
      put({.id = fmt::format("stray-{}", random_.below(3)),
           .vni = kStrayVni,
           .mac = Mac{},
           .addresses = {*Ip::parse("10.9.9.9")},
           .interface = {},
           .host = *Ip::parse("192.0.2.99")});
      break;
    case 1:
      while (!stations_.empty()) remove(std::string(stations_.begin()->first));
      break;
    case 2:
      if (victim != stations_.end()) {
        fabric::Station spoilt = victim->second;
        spoilt.mac = Mac{};
        put(spoilt);
      }
      break;
    default:
      if (victim != stations_.end()) remove(std::string(victim->first));
  }
  if (process_) process_->notify();
}

SimFabric::SimFabric(HostPlane& plane) : plane_(plane) { plane_.process_ = &disturbed_; }

SimFabric::~SimFabric() {
  if (plane_.process_ == &disturbed_) plane_.process_ = nullptr;
}

Task<Result<>> SimFabric::take_a_while(Duration most) {
  const Duration time = plane_.random_.between(Duration::zero(), most);
  co_return co_await runtime::sleep(plane_.machine_, time);
}

Task<Result<>> SimFabric::open() {
  FL_CO_CHECKED(co_await take_a_while(20ms));
  if (plane_.fails()) co_return fail(Code::unavailable, "the switch is still starting");
  found_.clear();
  for (const auto& [id, station] : plane_.stations_)
    if (station.local()) found_.push_back(station);
  plane_.counts_.adopted += found_.size();
  co_return Result<>{};
}

// Within a virtual network no address and no MAC twice: what every fabric requires.
void SimFabric::check_request(const fabric::Desired& desired) {
  std::map<std::pair<fabric::Vni, std::variant<Ip, Mac>>, std::string> owners;
  const auto claim = [&](const fabric::Station& station, std::variant<Ip, Mac> what) {
    const auto [owner, first] = owners.emplace(std::pair(station.vni, what), station.id);
    if (!first && plane_.violation.empty())
      plane_.violation = fmt::format("{} was asked to carry both {} and {}", plane_.node(),
                                     owner->second, station.id);
  };
  for (const auto& [id, station] : desired) {
    claim(station, station.mac);
    for (const Ip& ip : station.addresses) claim(station, ip);
  }
}

Task<fabric::Outcome> SimFabric::bring(const fabric::Desired& desired, std::string id) {
  fabric::Outcome outcome{.id = id, .result = {}};
  const bool fails = plane_.fails();
  const bool without_effect = fails && plane_.random_.below(2) == 0;
  if (Result<> waited = co_await take_a_while(1ms); !waited) {
    outcome.result = waited;
    co_return outcome;
  }
  if (!without_effect) {
    const auto wanted = desired.find(id);
    const auto carried = plane_.stations_.find(id);
    if (wanted == desired.end()) {
      plane_.remove(id);
    } else if (carried == plane_.stations_.end() || carried->second != wanted->second) {
      outcome.made_interface =
          wanted->second.local() && !plane_.interface(wanted->second.interface);
      plane_.put(wanted->second);
    }
  }
  if (fails) {
    ++plane_.counts_.failures;
    outcome.result = fail(Code::io, "no room in the switch");
  }
  co_return outcome;
}

Task<std::vector<fabric::Outcome>> SimFabric::apply(const fabric::Desired& desired,
                                                    std::span<const std::string> ids) {
  check_request(desired);
  std::vector<fabric::Outcome> outcomes;
  for (const std::string& id : ids) outcomes.push_back(co_await bring(desired, id));
  co_return outcomes;
}

Task<Result<fabric::Audit>> SimFabric::audit(const fabric::Desired& desired) {
  check_request(desired);
  FL_CO_CHECKED(co_await take_a_while(5ms));
  if (plane_.fails()) co_return fail(Code::unavailable, "the switch does not answer");
  fabric::Audit audit;
  std::vector<std::string> ids;
  for (const auto& [id, station] : plane_.stations_)
    if (!desired.contains(id)) ids.push_back(id);
  audit.unexpected = ids.size();
  for (const auto& [id, station] : desired) {
    const auto carried = plane_.stations_.find(id);
    if (carried == plane_.stations_.end() || carried->second != station) ids.push_back(id);
  }
  audit.missing = ids.size() - audit.unexpected;
  plane_.counts_.mended += ids.size();
  for (const std::string& id : ids) {
    fabric::Outcome outcome = co_await bring(desired, id);
    if (outcome.result && outcome.made_interface) audit.made.push_back(id);
    if (!outcome.result) audit.failed.push_back(std::move(outcome));
  }
  co_return audit;
}

Task<Result<runtime::ProcessEnd>> SimProcesses::run(runtime::Command command) {
  const std::string interface = command.arguments.at(1);
  const HostPlane::Interface* subject = plane_.interface(interface);
  const std::uint64_t made = subject ? subject->made : 0;
  const Duration time = Duration(plane_.machine().random() % 50'000'000);
  FL_CO_CHECKED(co_await runtime::sleep(plane_.machine(), time));
  ++runs_;
  done_.insert(made);
  co_return runtime::ProcessEnd{.status = 0, .output = "done"};
}

bool SimProcesses::ran_for(const std::string& interface) const {
  const HostPlane::Interface* subject = plane_.interface(interface);
  return subject && done_.contains(subject->made);
}

}  // namespace fairlead::sim
