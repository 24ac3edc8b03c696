// Two real servers on an etcd that is restored from a snapshot while they run, die and are cut off.
// What was written after the snapshot is lost, and must be; what clients know must not be mixed up
// with it: versions only grow, no version of an object ever stands for two contents, and whoever
// follows ends with what etcd holds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/store/etcd/etcd_store.h"
#include "api/watchcache/stored_object.h"
#include "features/networks/kinds/test_catalog.h"
#include "foundation/base/log.h"
#include "sim/models/etcd_members.h"
#include "sim/models/etcd_truth.h"
#include "sim/scenarios/api_scenario.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

const client::ResourceName kConfigMaps{"", "v1", "configmaps", true};

std::uint64_t number(std::string_view text) { return std::stoull(std::string(text)); }
std::uint64_t version_of(const Json& object) {
  return number(wire::find_string(object, "metadata.resourceVersion"));
}
std::string name_of(const Json& object) {
  return std::string(wire::find_string(object, "metadata.name"));
}

// What anybody was told of any version of any object, before the restore and after.
class Told {
 public:
  void object(const Json& object) {
    const auto [at, fresh] =
        told_.try_emplace({name_of(object), version_of(object)}, value_of(object));
    if (!fresh && at->second != value_of(object))
      violations_.push_back(fmt::format("{} at {} is {} and {}", name_of(object),
                                        version_of(object), at->second, value_of(object)));
  }
  Violations& violations() { return violations_; }

 private:
  std::map<std::pair<std::string, std::uint64_t>, std::string> told_;
  Violations violations_;
};

// A cache that is kept by a reflector, and remembers how far it has come.
class Follower final : public client::ObjectSink {
 public:
  Follower(std::string name, Told& told) : name_(std::move(name)), told_(told) {}
  void replace(std::vector<Json> objects, const std::string& version) override {
    come_to(number(version), true);
    contents_.clear();
    for (const Json& object : objects) {
      told_.object(object);
      contents_[name_of(object)] = value_of(object);
    }
  }
  void put(const Json& object) override {
    come_to(version_of(object), false);
    told_.object(object);
    contents_[name_of(object)] = value_of(object);
  }
  void erase(const Json& last_state) override {
    come_to(version_of(last_state), false);
    contents_.erase(name_of(last_state));
  }
  const std::map<std::string, std::string>& contents() const { return contents_; }

 private:
  void come_to(std::uint64_t version, bool again) {
    if (version < newest_ || (version == newest_ && !again))
      told_.violations().push_back(
          fmt::format("{} went back from version {} to {}", name_, newest_, version));
    newest_ = std::max(newest_, version);
  }
  std::string name_;
  Told& told_;
  std::map<std::string, std::string> contents_;
  std::uint64_t newest_ = 0;
};

struct Ack {
  std::string name;
  std::string value;
  std::uint64_t version = 0;
};

struct Story {
  explicit Story(World& world) : etcd(world) {}
  EtcdMembers etcd;
  std::optional<EtcdModel> snapshot;
  Told told;
  std::vector<Ack> acknowledged;
  bool writing = true;
};

Task<void> serve(Machine& machine, Story& story, std::size_t number) {
  store::EtcdOptions options;
  options.endpoints = story.etcd.endpoints(number);
  store::EtcdStore store(machine, std::move(options));
  co_await serve_api(machine, store, {}, [] {});
}

Task<void> write(Machine& machine, Story& story, std::string server) {
  const std::unique_ptr<client::RestClient> api = connect(machine, server);
  for (unsigned i = 0; story.writing; ++i) {
    const std::string name = fmt::format("key-{}", i % 6);
    const std::string value = fmt::format("{}-{}-{}", machine.name(), machine.boot(), i);
    Result<Json> current = co_await api->get(kConfigMaps, "default", name);
    if (current && i % 5 == 4) {
      (void)co_await api->remove(kConfigMaps, "default", name);
    } else if (current || current.error().code == Code::not_found) {
      Result<Json> written;
      if (current) {
        current->at("data").get_object()["value"] = value;
        written = co_await api->update(kConfigMaps, std::move(*current));
      } else {
        Json made = JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                               {"data", JsonObject{{"value", value}}}};
        written = co_await api->create(kConfigMaps, "default", std::move(made));
      }
      if (written) {
        story.told.object(*written);
        story.acknowledged.push_back({name, value, version_of(*written)});
      }
    }
    if (!co_await runtime::sleep(machine, 60ms)) co_return;
  }
}

Task<void> follow(Machine& machine, Follower& follower, std::string server) {
  const std::unique_ptr<client::RestClient> api = connect(machine, server);
  client::Reflector reflector(machine, *api, {.resource = kConfigMaps}, follower);
  co_await reflector.run();
}

store::Revision base_of(const EtcdModel& model) {
  store::Revision base = 0;
  for (const EtcdModel::Event& event : model.log())
    if (event.key == "/fairlead/meta/epoch" && !event.erased)
      base = store::parse_epoch_record(event.value)->base;
  return base;
}

// Everything acknowledged in the new epoch is in etcd, as that version; and what etcd holds now.
Result<> check_truth(const Story& story, std::map<std::string, std::string>& now) {
  const resource::Kind& kind = *networks::test_catalog().find("", "v1", "configmaps");
  const store::Revision base = base_of(story.etcd.model());
  std::map<std::pair<std::string, std::uint64_t>, std::string> made;
  const std::string prefix = std::string(Truth::kPrefix) + "default/";
  for (const StoredChange& change : stored_changes(story.etcd.model())) {
    if (!change.key.starts_with(prefix)) continue;
    const std::string name = change.key.substr(prefix.size());
    const store::Place place{change.place.revision + base, change.place.position};
    now.erase(name);
    if (!change.value) continue;
    const auto object = watchcache::decode_stored(kind, *change.value, place);
    now[name] = made[{name, place.number()}] = value_of((*object)->decode());
  }
  std::size_t in_epoch = 0;
  for (const Ack& ack : story.acknowledged) {
    if (ack.version < store::Place{base, 0}.number()) continue;  // before the restore: may be lost
    ++in_epoch;
    const auto found = made.find({ack.name, ack.version});
    if (found == made.end() || found->second != ack.value)
      return fail(Code::internal, fmt::format("{} = {} was acknowledged as {} and is not there",
                                              ack.name, ack.value, ack.version));
  }
  if (base == 0) return fail(Code::internal, "nobody noticed that etcd was restored");
  if (in_epoch < 20) return fail(Code::internal, "hardly anything was written after the restore");
  return {};
}

Result<> restore_under_servers(World& world) {
  Story& story = world.own<Story>(world);
  story.etcd.start(world, 3);
  std::vector<Follower*> followers;
  std::vector<std::string> victims;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string server = fmt::format("server{}", i);
    world.add_machine(server).start(
        [&story, i](Machine& machine) { return serve(machine, story, i); });
    world.add_machine("writer-of-" + server).start([&story, server](Machine& machine) {
      return write(machine, story, server);
    });
    Follower& follower = world.own<Follower>("follower of " + server, story.told);
    followers.push_back(&follower);
    world.add_machine("follower-of-" + server).start([&follower, server](Machine& machine) {
      return follow(machine, follower, server);
    });
    victims.insert(victims.end(), {server, "follower-of-" + server});
  }
  using Kind = Fault::Kind;
  world.own<Nemesis>(world, FaultSettings{.machines = victims,
                                          .begin = 3s,
                                          .end = 25s,
                                          .victims_at_most = 2,
                                          .kinds = {Kind::cut_both_ways, Kind::isolate, Kind::pause,
                                                    Kind::kill, Kind::power_loss}});
  Random random = world.random_stream("restore");
  const Duration saved = random.between(3s, 8s);
  world.after(saved, [&story] { story.snapshot = story.etcd.model(); });
  world.after(saved + random.between(500ms, 9s),
              [&story, &world] { story.etcd.restore(world, *story.snapshot); });
  world.run_for(40s);
  story.writing = false;
  world.run_for(10s);
  std::map<std::string, std::string> now;
  FL_CHECKED(check_truth(story, now));
  const bool equal = world.run_until(
      [&] {
        return std::ranges::all_of(followers, [&](auto* one) { return one->contents() == now; });
      },
      240s);
  FL_CHECKED(as_result(story.told.violations()));
  if (!equal) return fail(Code::internal, "a follower does not end with what etcd holds");
  return {};
}

TEST(EtcdRestoredUnderServers, NothingIsMistakenForWhatIsLost) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 12, .cost = 10, .repeat = 5}, restore_under_servers));
}

}  // namespace
}  // namespace fairlead::sim
