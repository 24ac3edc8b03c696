#include "features/networks/node/network_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace fairlead::networks {
namespace {

constexpr const char* kNode = "n1";

// An attachment as an informer of node n1 would show it; `address` 0: none assigned yet.
Attachment attachment(std::string name, std::string uid, std::uint64_t version, std::string node,
                      fabric::Vni vni, int address, bool implemented = true,
                      std::string namespace_name = "default") {
  Attachment made;
  made.key = namespace_name + "/" + name;
  made.uid = std::move(uid);
  made.version = version;
  made.node = std::move(node);
  made.vni = vni;
  if (address != 0) {
    made.addresses = {Ip::v4(0x0a000000U + static_cast<std::uint32_t>(address))};
    made.mac = Mac({2, 0, 10, 0, 0, static_cast<std::uint8_t>(address)});
  }
  if (made.node == kNode) {
    made.local = std::make_shared<Local>();
  } else if (implemented) {
    made.host = Ip::v4(0xc0000201);
  }
  return made;
}

const Network kFive{5, "default"};
const Network kSix{6, "default"};

std::vector<std::string> desired_ids(const NetworkView& view) {
  std::vector<std::string> ids;
  for (const auto& [id, station] : view.desired()) ids.push_back(id);
  std::ranges::sort(ids);
  return ids;
}

using Ids = std::vector<std::string>;

// A network is relevant from the first attachment of this node in it to the last.
TEST(NetworkView, RelevanceFollowsTheNodesOwn) {
  NetworkView view;
  EXPECT_TRUE(view.relevant().empty());
  view.put(kLocal, attachment("a", "A", 1, kNode, 0, 0));
  EXPECT_TRUE(view.relevant().empty());
  view.put(kLocal, attachment("a", "A", 2, kNode, 5, 1));
  view.put(kLocal, attachment("b", "B", 3, kNode, 5, 2));
  EXPECT_EQ(view.relevant(), std::vector<Network>{kFive});
  view.erase(kLocal, "default/a");
  EXPECT_EQ(view.relevant(), std::vector<Network>{kFive});
  view.put(kLocal, attachment("b", "B", 4, kNode, 6, 2));
  EXPECT_EQ(view.relevant(), std::vector<Network>{kSix});
  view.erase(kLocal, "default/b");
  EXPECT_TRUE(view.relevant().empty());
}

// Local stations need address and MAC, remote ones a host besides; what changed is told.
TEST(NetworkView, StationsAppearWhenComplete) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 0));
  EXPECT_TRUE(view.take_changed().empty());
  view.put(kLocal, attachment("a", "A", 2, kNode, 5, 1));
  EXPECT_EQ(view.take_changed(), Ids{"A"});
  view.put(kFive, attachment("r", "R", 3, "n2", 5, 2, false));
  EXPECT_TRUE(view.take_changed().empty());
  view.put(kFive, attachment("r", "R", 4, "n2", 5, 2));
  EXPECT_EQ(view.take_changed(), Ids{"R"});
  EXPECT_TRUE(view.desired().at("A").local());
  EXPECT_EQ(view.desired().at("A").interface.size(), 15U);
  EXPECT_EQ(view.desired().at("R").host.to_string(), "192.0.2.1");
  view.put(kFive, attachment("r", "R", 5, "n2", 5, 2));  // nothing that matters here
  EXPECT_TRUE(view.take_changed().empty());
  view.put(kFive, attachment("r", "R", 6, "n2", 5, 3));
  EXPECT_EQ(view.take_changed(), Ids{"R"});
}

// With the last own attachment in a network everything of it goes, and late events change nothing.
TEST(NetworkView, LeavingANetworkForgetsIt) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 1));
  view.put(kFive, attachment("r", "R", 2, "n2", 5, 2));
  view.take_changed();
  view.erase(kLocal, "default/a");
  EXPECT_EQ(view.take_changed(), (Ids{"A", "R"}));
  EXPECT_TRUE(view.desired().empty());
  view.put(kFive, attachment("late", "L", 3, "n2", 5, 3));
  EXPECT_TRUE(view.take_changed().empty());
  EXPECT_EQ(view.find("L"), nullptr);
}

// What the network's informer says of this node's own is left to the local one.
TEST(NetworkView, OwnAttachmentsComeFromTheLocalInformerOnly) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 1));
  view.put(kFive, attachment("a", "A", 9, kNode, 5, 7));
  view.erase(kFive, "default/a");
  EXPECT_EQ(view.desired().at("A").addresses.front().to_string(), "10.0.0.1");
}

// Of two that claim an address, or a MAC, none is carried; the local one says with whom.
TEST(NetworkView, RivalsAreNotCarried) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 1));
  view.put(kLocal, attachment("b", "B", 2, kNode, 5, 2));
  view.take_changed();
  view.put(kFive, attachment("r", "R", 3, "n2", 5, 1));
  EXPECT_EQ(desired_ids(view), Ids{"B"});
  EXPECT_EQ(view.take_changed(), Ids{"A"});
  EXPECT_EQ(view.problems("A"),
            (std::vector<std::string>{
                "02:00:0a:00:00:01 in virtual network 5 is also claimed by default/r",
                "10.0.0.1 in virtual network 5 is also claimed by default/r"}));
  EXPECT_TRUE(view.problems("B").empty());
  Attachment same_mac = attachment("r", "R", 4, "n2", 5, 9);
  same_mac.mac = Mac({2, 0, 10, 0, 0, 2});
  view.put(kFive, same_mac);
  EXPECT_EQ(desired_ids(view), Ids{"A"});
  EXPECT_EQ(view.problems("B").size(), 1U);
  view.erase(kFive, "default/r");
  EXPECT_EQ(desired_ids(view), (Ids{"A", "B"}));
  EXPECT_TRUE(view.problems("B").empty());
}

// The same address in two networks is nobody's conflict.
TEST(NetworkView, NetworksAreApart) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 1));
  view.put(kLocal, attachment("b", "B", 2, kNode, 6, 1));
  EXPECT_EQ(desired_ids(view), (Ids{"A", "B"}));
}

// A VNI in two namespaces would join strangers: it is carried for neither.
TEST(NetworkView, OneNamespaceForANetwork) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 1));
  view.put(kFive, attachment("r", "R", 2, "n2", 5, 3));
  view.put(kLocal, attachment("b", "B", 3, kNode, 5, 2, true, "other"));
  EXPECT_TRUE(view.desired().empty());
  EXPECT_EQ(view.problems("A").size(), 1U);
  EXPECT_EQ(view.relevant().size(), 2U);
  view.erase(kLocal, "other/b");
  EXPECT_EQ(desired_ids(view), (Ids{"A", "R"}));
}

// Deleted and made again under the same name, the two informers being out of step: the newer wins.
TEST(NetworkView, RecreatedElsewhere) {
  NetworkView view;
  view.put(kLocal, attachment("keep", "K", 1, kNode, 5, 9));
  view.put(kLocal, attachment("a", "A1", 2, kNode, 5, 1));
  view.put(kFive, attachment("a", "A2", 7, "n2", 5, 1));
  EXPECT_EQ(desired_ids(view), (Ids{"A2", "K"}));
  view.erase(kLocal, "default/a");
  EXPECT_EQ(desired_ids(view), (Ids{"A2", "K"}));
  view.put(kLocal, attachment("a", "A3", 9, kNode, 5, 1));  // and back, before n2's is gone
  EXPECT_EQ(desired_ids(view), (Ids{"A3", "K"}));
  view.erase(kFive, "default/a");
  EXPECT_EQ(desired_ids(view), (Ids{"A3", "K"}));
}

// The same name with a new uid in one event, as after a reconnection.
TEST(NetworkView, RecreatedUnseen) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A1", 1, kNode, 5, 1));
  view.take_changed();
  view.replace(kLocal, {attachment("a", "A2", 5, kNode, 5, 1)});
  EXPECT_EQ(view.take_changed(), (Ids{"A1", "A2"}));
  EXPECT_EQ(desired_ids(view), Ids{"A2"});
  EXPECT_EQ(view.find("A1"), nullptr);
}

// A list in which one attachment of the node has left a network and another has come into it, in
// whatever order: the network was relevant throughout, and what its informer showed stays.
TEST(NetworkView, AListDoesNotLeaveWhatItEnters) {
  for (const char* newcomer : {"a", "z"}) {
    NetworkView view;
    view.put(kLocal, attachment("m", "M", 1, kNode, 5, 1));
    view.put(kFive, attachment("r", "R", 2, "n2", 5, 2));
    const std::uint64_t relevance = view.relevance();
    view.replace(
        kLocal, {attachment("m", "M2", 3, kNode, 0, 0), attachment(newcomer, "N", 4, kNode, 5, 3)});
    EXPECT_EQ(view.relevance(), relevance);
    EXPECT_EQ(desired_ids(view), (Ids{"N", "R"}));
    view.replace(kLocal, {});
    EXPECT_TRUE(view.relevant().empty());
    EXPECT_TRUE(view.desired().empty());
  }
}

// What is right about one attachment, it is as of what its informer has reached, be its own version
// ever so old: a network that was left and entered again shows what was there before.
TEST(NetworkView, KnowsUpToWhereTheInformerIs) {
  NetworkView view;
  EXPECT_EQ(view.known_up_to("R"), UINT64_MAX);  // nothing is carried
  view.put(kLocal, attachment("a", "A", 2, kNode, 5, 1));
  EXPECT_EQ(view.known_up_to("A"), 0U);
  view.reached(kLocal, 2);
  EXPECT_EQ(view.known_up_to("A"), 2U);
  view.reached(kFive, 9);
  view.put(kFive, attachment("r", "R", 1, "n2", 5, 2));
  EXPECT_EQ(view.known_up_to("R"), 9U);
  EXPECT_EQ(view.known_up_to("A"), 2U);
  view.reached(kFive, 3);  // never back
  EXPECT_EQ(view.known_up_to("R"), 9U);
  view.erase(kLocal, "default/a");  // the network is left
  view.put(kLocal, attachment("b", "B", 10, kNode, 5, 1));
  view.put(kFive, attachment("r", "R", 1, "n2", 5, 2));
  EXPECT_EQ(view.known_up_to("R"), 0U);
  view.reached(kFive, 12);
  EXPECT_EQ(view.known_up_to("R"), 12U);
  view.reached(kSix, 13);  // not relevant
  EXPECT_EQ(view.known_up_to("R"), 12U);
}

// An attachment that moves to another network may be seen in both for a while.
TEST(NetworkView, MovesBetweenInformers) {
  NetworkView view;
  view.put(kLocal, attachment("a", "A", 1, kNode, 5, 1));
  view.put(kLocal, attachment("b", "B", 2, kNode, 6, 1));
  view.put(kFive, attachment("r", "R", 3, "n2", 5, 3));
  view.put(kSix, attachment("r", "R", 8, "n2", 6, 4));
  EXPECT_EQ(view.desired().at("R").vni, 6U);
  view.erase(kFive, "default/r");
  EXPECT_EQ(view.desired().at("R").vni, 6U);
}

// ---- The model: a history of objects, and informers that show it each at its own pace.

struct World {
  struct Event {
    bool erased;
    Attachment object;
  };
  std::map<std::string, Attachment> objects;
  std::vector<Event> history;
  std::uint64_t version = 0;
  int uids = 0;
};

bool selects(const Source& source, const Attachment& object) {
  if (!source) return object.node == kNode;
  return object.vni == source->vni && object.namespace_name() == source->namespace_name;
}

// One informer: what it has shown so far, and how far in the history it is.
struct Follower {
  Source source;
  std::size_t at = 0;
  std::map<std::string, Attachment> shown;
};

void list(const World& world, Follower& follower, NetworkView& view) {
  follower.at = world.history.size();
  follower.shown.clear();
  std::vector<Attachment> all;
  for (const auto& [key, object] : world.objects) {
    if (!selects(follower.source, object)) continue;
    follower.shown[key] = object;
    all.push_back(object);
  }
  view.replace(follower.source, std::move(all));
}

void step(const World& world, Follower& follower, NetworkView& view) {
  const World::Event& event = world.history[follower.at++];
  const std::string& key = event.object.key;
  if (!event.erased && selects(follower.source, event.object)) {
    follower.shown[key] = event.object;
    view.put(follower.source, event.object);
  } else if (follower.shown.erase(key)) {
    view.erase(follower.source, key);
  }
}

// What follows from the objects, said directly.
fabric::Desired model(const std::map<std::string, Attachment>& objects) {
  std::map<fabric::Vni, std::set<std::string>> networks;
  for (const auto& [key, object] : objects)
    if (object.node == kNode && object.vni != 0)
      networks[object.vni].insert(std::string(object.namespace_name()));
  std::vector<fabric::Station> candidates;
  for (const auto& [key, object] : objects) {
    const auto network = networks.find(object.vni);
    const bool relevant =
        network != networks.end() && network->second.contains(std::string(object.namespace_name()));
    if (relevant && object.station()) candidates.push_back(*object.station());
  }
  fabric::Desired desired;
  for (const fabric::Station& one : candidates) {
    bool alone = networks[one.vni].size() == 1;
    for (const fabric::Station& other : candidates) {
      if (other.id == one.id || other.vni != one.vni) continue;
      alone = alone && other.mac != one.mac && other.addresses != one.addresses;
    }
    if (alone) desired.emplace(one.id, one);
  }
  return desired;
}

void change_something(World& world, std::mt19937_64& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::string name = fmt::format("a{}", pick(8));
  const std::string namespace_name = pick(12) == 0 ? "other" : "default";
  const std::string key = namespace_name + "/" + name;
  const auto at = world.objects.find(key);
  ++world.version;
  if (at != world.objects.end() && pick(4) == 0) {
    Attachment last = at->second;
    last.version = world.version;
    world.history.push_back({true, last});
    world.objects.erase(at);
    return;
  }
  Attachment object;
  const int vni = pick(5) == 0 ? 0 : 5 + pick(2);
  const int address = vni == 0 ? 0 : pick(7);
  const bool implemented = pick(4) != 0;
  if (at == world.objects.end()) {
    object = attachment(name, fmt::format("u{}", ++world.uids), world.version,
                        pick(2) ? kNode : "n2", vni, address, implemented, namespace_name);
  } else {
    object = attachment(name, at->second.uid, world.version, at->second.node, vni, address,
                        implemented, namespace_name);
  }
  world.objects[key] = object;
  world.history.push_back({false, object});
}

// Whatever the interleaving: once all informers have caught up, the view is what follows from the
// objects; and what take_changed() told, followed all along, leads to the same.
TEST(NetworkView, AfterAnyInterleavingOnlyTheObjectsCount) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    World world;
    NetworkView view;
    Follower local{.source = kLocal, .shown = {}};
    std::map<Network, Follower> followers;
    fabric::Desired followed;
    // Starts and stops followers as the view wants it, and follows what it says changed.
    const auto after_event = [&] {
      std::erase_if(followers, [&](const auto& one) { return !view.is_relevant(one.first); });
      for (const Network& network : view.relevant()) {
        if (followers.contains(network)) continue;
        Follower& fresh = followers[network];
        fresh.source = network;
        // Lists from where the local informer is, or from anywhere later.
        fresh.at = world.history.size();
        list(world, fresh, view);
      }
      for (const std::string& id : view.take_changed()) {
        const auto at = view.desired().find(id);
        if (at == view.desired().end()) {
          followed.erase(id);
        } else {
          followed.insert_or_assign(id, at->second);
        }
      }
      ASSERT_EQ(followed, view.desired()) << "seed " << seed;
    };
    for (int i = 0; i < 120; ++i) {
      if (random() % 3 == 0) change_something(world, random);
      std::vector<Follower*> behind;
      if (local.at < world.history.size()) behind.push_back(&local);
      for (auto& [network, follower] : followers)
        if (follower.at < world.history.size()) behind.push_back(&follower);
      if (!behind.empty()) {
        Follower& next = *behind[random() % behind.size()];
        if (random() % 10 == 0) {
          list(world, next, view);
        } else {
          step(world, next, view);
        }
      }
      after_event();
    }
    for (bool moved = true; moved;) {
      moved = false;
      while (local.at < world.history.size()) {
        step(world, local, view);
        after_event();
        moved = true;
      }
      for (const Network& network : view.relevant()) {
        Follower& follower = followers.at(network);
        while (follower.at < world.history.size()) {
          step(world, follower, view);
          moved = true;
        }
      }
      after_event();
    }
    ASSERT_EQ(view.desired(), model(world.objects)) << "seed " << seed;
    for (const auto& [key, object] : world.objects) {
      const bool carried = view.desired().contains(object.uid);
      if (object.node == kNode && object.station())
        ASSERT_EQ(view.problems(object.uid).empty(), carried) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fairlead::networks
