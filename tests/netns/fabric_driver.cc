// Drives one host's fabric from the command line, for the scripts beside it:
//
//   fabric_driver --fabric ovs --run-dir DIR [--bridge NAME] [--datapath netdev] [--local-ip IP]
//                 [--mtu N] COMMAND [FILE]
//
//   apply FILE   brings the host to what FILE says, and removes what else there is; says for each
//                station what became of it
//   audit FILE   observes everything and mends it; says what was missing and unexpected
//   hold FILE    audits, and again whenever the fabric was disturbed, until it is told to end
//   list         the local stations that an earlier process left complete
//   bench N      makes N local stations, then removes them; says how many of each in a second
//
// FILE: {"stations": [{"id", "vni", "mac", "addresses": […], "host": "…" | "local": true}]}.
// Answers are lines of JSON on standard output.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/runtime/epoll_runtime.h"
#include "foundation/wire/json.h"
#include "node/fabric/log_fabric.h"
#include "node/fabric/names.h"
#include "node/fabric/ovs/ovs_fabric.h"

namespace {

using namespace fairlead;

struct Settings {
  std::map<std::string, std::string, std::less<>> flags;
  std::string command;
  std::string argument;

  std::string flag(std::string_view name, std::string otherwise) const {
    const auto found = flags.find(name);
    return found == flags.end() ? otherwise : found->second;
  }
};

Result<Settings> parse_settings(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> words;
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    if (!word.starts_with("--")) {
      words.push_back(word);
    } else if (at + 1 < argc) {
      settings.flags[word.substr(2)] = argv[++at];
    } else {
      return fail(Code::invalid, word + " wants a value");
    }
  }
  if (words.empty()) return fail(Code::invalid, "which command?");
  settings.command = words[0];
  if (words.size() > 1) settings.argument = words[1];
  return settings;
}

Result<std::unique_ptr<fabric::Fabric>> make_fabric(runtime::Runtime& runtime,
                                                    const Settings& settings) {
  const std::string name = settings.flag("fabric", "ovs");
  const auto mtu = static_cast<std::uint32_t>(std::stoul(settings.flag("mtu", "0")));
  if (name == "log")
    return std::make_unique<fabric::LogFabric>(fabric::LogFabric::Options{.mtu = mtu ? mtu : 1450});
  if (name != "ovs") return fail(Code::invalid, "--fabric " + name + ": no such fabric");
  fabric::ovs::OvsOptions options;
  options.run_directory = settings.flag("run-dir", options.run_directory);
  options.bridge = settings.flag("bridge", options.bridge);
  options.datapath_type = settings.flag("datapath", "");
  options.mtu = mtu;
  if (const std::string ip = settings.flag("local-ip", ""); !ip.empty()) {
    FL_TRY(options.local_ip, Ip::parse(ip));
  }
  return std::make_unique<fabric::ovs::OvsFabric>(runtime, options);
}

Result<fabric::Station> parse_station(const Json& json) {
  fabric::Station station;
  station.id = wire::find_string(json, "id");
  const Json* vni = wire::find(json, "vni");
  if (!vni || !vni->is_int64()) return fail(Code::invalid, "vni");
  station.vni = static_cast<fabric::Vni>(vni->get_int64());
  FL_TRY(station.mac, Mac::parse(wire::find_string(json, "mac")));
  const Json* addresses = wire::find(json, "addresses");
  if (!addresses || !addresses->is_array()) return fail(Code::invalid, "addresses");
  for (const Json& address : addresses->get_array()) {
    FL_TRY(const Ip ip, Ip::parse(std::string_view(address.as_string())));
    station.addresses.push_back(ip);
  }
  if (const std::string_view host = wire::find_string(json, "host"); !host.empty()) {
    FL_TRY(station.host, Ip::parse(host));
  } else {
    station.interface = fabric::guest_interface_name(station.id);
  }
  return station;
}

Result<fabric::Desired> read_desired(runtime::Runtime& runtime, const std::string& path) {
  FL_TRY(const std::string text, runtime.files().read(path));
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text));
  fabric::Desired desired;
  const Json* stations = wire::find(parsed.value, "stations");
  if (!stations || !stations->is_array()) return fail(Code::invalid, path + ": stations");
  for (const Json& json : stations->get_array()) {
    FL_TRY(fabric::Station station, parse_station(json));
    const std::string id = station.id;
    desired.insert_or_assign(id, std::move(station));
  }
  return desired;
}

void say(const JsonObject& object) {
  std::puts(wire::encode_json(object).c_str());
  std::fflush(stdout);
}

bool say_outcomes(const std::vector<fabric::Outcome>& outcomes) {
  bool good = true;
  for (const fabric::Outcome& outcome : outcomes) {
    say({{"id", outcome.id},
         {"result", outcome.result ? "ok" : outcome.result.error().to_string()},
         {"made", outcome.made_interface}});
    good = good && outcome.result;
  }
  return good;
}

Task<Result<bool>> audit(fabric::Fabric& fabric, const fabric::Desired& desired) {
  FL_CO_TRY(const fabric::Audit found, co_await fabric.audit(desired));
  say({{"missing", found.missing}, {"unexpected", found.unexpected}});
  co_return say_outcomes(found.failed);
}

Task<Result<bool>> apply(fabric::Fabric& fabric, const fabric::Desired& desired) {
  std::vector<std::string> ids;
  for (const auto& [id, station] : desired) ids.push_back(id);
  for (const fabric::Station& station : fabric.local_stations())
    if (!desired.contains(station.id)) ids.push_back(station.id);
  const std::vector<fabric::Outcome> outcomes = co_await fabric.apply(desired, ids);
  co_return say_outcomes(outcomes);
}

Task<void> audit_when_disturbed(fabric::Fabric& fabric, const fabric::Desired& desired) {
  for (;;) {
    const Result<> woken = co_await fabric.disturbed().wait();
    if (!woken) co_return;
    const Result<bool> good = co_await audit(fabric, desired);
    if (!good) say({{"error", good.error().to_string()}});
  }
}

Task<Result<bool>> hold(runtime::EpollRuntime& runtime, fabric::Fabric& fabric,
                        const fabric::Desired& desired) {
  runtime::Scope scope(runtime);
  scope.spawn(audit_when_disturbed(fabric, desired));
  FL_CO_CHECKED(co_await audit(fabric, desired));
  FL_CO_CHECKED(co_await runtime.next_signal());
  co_await scope.close();
  co_return true;
}

Task<Result<bool>> bench(runtime::Runtime& runtime, fabric::Fabric& fabric, std::uint32_t count) {
  fabric::Desired desired;
  std::vector<std::string> ids;
  for (std::uint32_t at = 0; at < count; ++at) {
    fabric::Station station;
    station.id = fmt::format("bench-{}", at);
    station.vni = 1 + at % 10;
    station.addresses = {Ip::v4(0x0a000002 + at)};
    station.mac = *Mac::parse(fmt::format("02:00:0a:00:{:02x}:{:02x}", at >> 8 & 0xff, at & 0xff));
    station.interface = fabric::guest_interface_name(station.id);
    ids.push_back(station.id);
    desired.emplace(station.id, station);
  }
  const auto each_second = [&](Instant since) {
    const auto passed = std::chrono::duration<double>(runtime.now() - since).count();
    return static_cast<std::int64_t>(count / passed);
  };
  bool good = true;
  const Instant start = runtime.now();
  for (const fabric::Outcome& outcome : co_await fabric.apply(desired, ids))
    good = good && outcome.result;
  say({{"made_per_second", each_second(start)}, {"good", good}});
  const Instant middle = runtime.now();
  const fabric::Desired none;
  for (const fabric::Outcome& outcome : co_await fabric.apply(none, ids))
    good = good && outcome.result;
  say({{"removed_per_second", each_second(middle)}, {"good", good}});
  co_return good;
}

void list(const fabric::Fabric& fabric) {
  for (const fabric::Station& station : fabric.local_stations()) {
    JsonArray addresses;
    for (const Ip& ip : station.addresses) addresses.emplace_back(ip.to_string());
    say({{"id", station.id},
         {"vni", station.vni},
         {"mac", station.mac.to_string()},
         {"addresses", std::move(addresses)},
         {"interface", station.interface}});
  }
}

Task<Result<bool>> run(runtime::EpollRuntime& runtime, const Settings& settings) {
  FL_CO_TRY(const std::unique_ptr<fabric::Fabric> fabric, make_fabric(runtime, settings));
  FL_CO_CHECKED(co_await fabric->open());
  if (settings.command == "list") {
    list(*fabric);
    co_return true;
  }
  if (settings.command == "bench") {
    const auto count = static_cast<std::uint32_t>(std::stoul(settings.argument));
    co_return co_await bench(runtime, *fabric, count);
  }
  FL_CO_TRY(const fabric::Desired desired, read_desired(runtime, settings.argument));
  if (settings.command == "apply") co_return co_await apply(*fabric, desired);
  if (settings.command == "audit") co_return co_await audit(*fabric, desired);
  if (settings.command == "hold") co_return co_await hold(runtime, *fabric, desired);
  co_return fail(Code::invalid, settings.command + ": no such command");
}

}  // namespace

int main(int argc, char** argv) {
  const Result<Settings> settings = parse_settings(argc, argv);
  if (!settings) {
    fmt::print(stderr, "fabric_driver: {}\n", settings.error().message);
    return 2;
  }
  runtime::EpollRuntime runtime;
  if (settings->command == "hold") (void)runtime.catch_signals({SIGTERM, SIGINT});
  const Result<bool> good = runtime.run_until_complete(run(runtime, *settings));
  if (!good) fmt::print(stderr, "fabric_driver: {}\n", good.error().to_string());
  return good && *good ? 0 : 1;
}
