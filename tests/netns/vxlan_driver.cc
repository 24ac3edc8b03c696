// Drives the vxlan fabric by hand, for vxlan_fabric.sh:
//
//   vxlan_driver LOCAL-IP apply FILE       brings every station of the file; prints what became of
//   it vxlan_driver LOCAL-IP withdraw FILE    removes every station of the file vxlan_driver
//   LOCAL-IP audit FILE       one audit; prints what it found vxlan_driver LOCAL-IP hold FILE
//   audits, says "ready", and again whenever it is disturbed vxlan_driver LOCAL-IP stations the
//   local stations it finds vxlan_driver LOCAL-IP counters         what the kernel programs counted
//   vxlan_driver LOCAL-IP dismantle        removes everything
//
// VXLAN_STATIONS in the environment: how many stations the maps have room for.
// FILE: {"stations": [{"id", "vni", "mac", "addresses": […], "interface" or "host"}, …]}
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "foundation/runtime/epoll_runtime.h"
#include "foundation/wire/json.h"
#include "node/fabric/vxlan/vxlan_fabric.h"

using namespace fairlead;          // NOLINT(google-build-using-namespace)
using namespace fairlead::fabric;  // NOLINT(google-build-using-namespace)

namespace {

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

Result<Station> read_station(const Json& json) {
  Station station;
  station.id = wire::find_string(json, "id");
  station.vni = static_cast<Vni>(json.at("vni").to_number<std::uint32_t>());
  FL_TRY(station.mac, Mac::parse(wire::find_string(json, "mac")));
  for (const Json& address : json.at("addresses").as_array()) {
    FL_TRY(const Ip ip, Ip::parse(std::string_view(address.as_string())));
    station.addresses.push_back(ip);
  }
  station.interface = wire::find_string(json, "interface");
  if (!station.local()) {
    FL_TRY(station.host, Ip::parse(wire::find_string(json, "host")));
  }
  return station;
}

Result<Desired> read_desired(runtime::Runtime& runtime, const std::string& path) {
  FL_TRY(const std::string text, runtime.files().read(path));
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text));
  Desired desired;
  for (const Json& json : parsed.value.at("stations").as_array()) {
    FL_TRY(Station station, read_station(json));
    desired.insert_or_assign(station.id, station);
  }
  return desired;
}

Result<> say_audit(const Result<Audit>& audit) {
  if (!audit) return fail(audit.error());
  say(fmt::format("audit missing={} unexpected={} failed={}", audit->missing, audit->unexpected,
                  audit->failed.size()));
  for (const Outcome& outcome : audit->failed) say(outcome.result.error().to_string());
  return {};
}

Task<Result<>> hold(VxlanFabric& fabric, const Desired& desired) {
  FL_CO_CHECKED(say_audit(co_await fabric.audit(desired)));
  say("ready");
  for (;;) {
    FL_CO_CHECKED(co_await fabric.disturbed().wait());
    FL_CO_CHECKED(say_audit(co_await fabric.audit(desired)));
  }
}

Task<Result<>> apply(VxlanFabric& fabric, const Desired& all, bool wanted) {
  std::vector<std::string> ids;
  for (const auto& [id, station] : all) ids.push_back(id);
  const Desired desired = wanted ? all : Desired{};
  const std::vector<Outcome> outcomes = co_await fabric.apply(desired, ids);
  for (const Outcome& outcome : outcomes)
    say(fmt::format("{} {}{}", outcome.id,
                    outcome.result ? "ok" : outcome.result.error().to_string(),
                    outcome.made_interface ? " made" : ""));
  co_return Result<>{};
}

Task<Result<>> say_counters(VxlanFabric& fabric) {
  FL_CO_TRY(const vxlan::Counters counters, co_await fabric.counters());
  for (std::size_t i = 0; i < counters.size(); ++i)
    say(fmt::format("{}={}", vxlan::counter_name(static_cast<fl_counter>(i)), counters[i]));
  co_return Result<>{};
}

Task<Result<>> drive(runtime::Runtime& runtime, const std::vector<std::string>& words) {
  FL_CO_TRY(const Ip local, Ip::parse(words.at(0)));
  const std::string& verb = words.at(1);
  Desired desired;
  if (words.size() > 2) {
    FL_CO_TRY(desired, read_desired(runtime, words[2]));
  }
  vxlan::VxlanOptions options{.local = local};
  if (const char* stations = std::getenv("VXLAN_STATIONS"))
    options.sizes.stations = static_cast<std::uint32_t>(std::strtoul(stations, nullptr, 10));
  VxlanFabric fabric(runtime, options);
  FL_CO_CHECKED(co_await fabric.open());
  if (verb == "apply" || verb == "withdraw")
    co_return co_await apply(fabric, desired, verb == "apply");
  if (verb == "audit") co_return say_audit(co_await fabric.audit(desired));
  if (verb == "hold") co_return co_await hold(fabric, desired);
  if (verb == "counters") co_return co_await say_counters(fabric);
  if (verb == "dismantle") co_return co_await fabric.dismantle();
  if (verb != "stations") co_return fail(Code::invalid, "unknown verb " + verb);
  for (const Station& station : fabric.local_stations())
    say(fmt::format("{} vni={} mtu={}", station.id, station.vni, fabric.mtu()));
  co_return Result<>{};
}

}  // namespace

int main(int argc, char** argv) {
  runtime::EpollRuntime runtime;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  const Result<> result = runtime.run_until_complete(drive(runtime, words));
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return result ? 0 : 1;
}
