// The condition Ready of attachments, and what is told of them, on a whole server with the model
// store.
#include "features/networks/ipam/readiness.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "features/networks/ipam/test_api.h"
#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/network_attachment.h"

namespace fairlead::ipam {
namespace {

const std::string kOurs = "/apis/fairlead.dev/v1alpha1/namespaces/default/";
const std::string kReports = "/apis/fairlead.dev/v1alpha1/nodereports";
constexpr std::string_view kMerge = "application/merge-patch+json";

struct World : TestApi {
  controllers::ServerEvents event_sink{runtime, catalog, api.writer(), metrics};
  VirtualNetworks networks{{runtime, catalog, cache, api.writer(), event_sink, metrics}};
  runtime::Scope controllers{runtime};

  World() {
    controllers.spawn(networks.run());
    create(kReports, JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
    runtime.settle();
  }
  void subnet(const char* name = "s") {
    create(kOurs + "subnets",
           JsonObject{{"metadata", JsonObject{{"name", name}}},
                      {"spec", JsonObject{{"ipv4", "10.0.0.0/24"}, {"vni", 7}}}});
    runtime.advance(1s);
  }
  void attach(const std::string& name, const std::string& node = "n1", JsonObject more = {}) {
    JsonObject spec{{"node", node}, {"subnet", "s"}};
    for (const auto& [key, value] : more) spec[key] = value;
    create(kOurs + "networkattachments",
           JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", std::move(spec)}});
    runtime.advance(1s);
  }
  // As the node's agent says it.
  void say(const std::string& name, const std::string& status) {
    const auto done = ask("n1", "PATCH", kOurs + "networkattachments/" + name + "/status",
                          R"({"status":)" + status + "}", kMerge);
    EXPECT_EQ(done->status, 200) << done->text;
    runtime.advance(1s);
  }
  void silence(const char* since) {
    const Json patch = JsonObject{{"silentSince", since ? Json(since) : Json(nullptr)}};
    const auto done = ask("admin", "PATCH", kReports + "/n1", wire::encode_json(patch), kMerge);
    EXPECT_EQ(done->status, 200) << done->text;
    runtime.advance(2s);
  }
  Json get(const std::string& name) {
    return ask("admin", "GET", kOurs + "networkattachments/" + name)->json();
  }
  // "STATUS REASON: message" of the condition Ready.
  std::string ready(const std::string& name) {
    const Json object = get(name);
    const Json* ready = resource::find_condition(object, resource::kReady);
    if (!ready) return "none";
    const auto text = [ready](const char* member) {
      return std::string(wire::find_string(*ready, member));
    };
    EXPECT_EQ(wire::find(*ready, "observedGeneration")->to_number<int>(),
              wire::find(object, "metadata.generation")->to_number<int>());
    return fmt::format("{} {}: {}", text("status"), text("reason"), text("message"));
  }
  std::string since(const std::string& name) {
    const Json object = get(name);
    return std::string(wire::find_string(*resource::find_condition(object, resource::kReady),
                                         "lastTransitionTime"));
  }
  // "REASON by COMPONENT/HOST: message" of the events about an attachment, sorted.
  std::vector<std::string> events(const std::string& name) {
    const Json list = ask("admin", "GET",
                          "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind="
                          "NetworkAttachment,involvedObject.name=" +
                              name)
                          ->json();
    std::vector<std::string> told;
    for (const Json& event : wire::find(list, "items")->get_array()) {
      const auto text = [&event](const char* path) {
        return std::string(wire::find_string(event, path));
      };
      if (text("reason") == "AddressAssigned") continue;
      told.push_back(fmt::format("{} by {}/{}: {}", text("reason"), text("source.component"),
                                 text("source.host"), text("message")));
    }
    std::ranges::sort(told);
    return told;
  }
};

// From its creation on an attachment says what it lacks, and when its node has made it that it is
// ready: in the writes that tell those things themselves.
TEST(Readiness, FollowsTheAttachment) {
  World world;
  world.attach("a");
  EXPECT_EQ(world.ready("a"), "False NoAddress: Subnet s does not exist");
  world.subnet();
  EXPECT_EQ(world.ready("a"), "False AwaitsNode: node n1 has not made the interface yet");
  const std::string waiting_since = world.since("a");
  world.say("a", R"({"errors":{"host":["no room"]}})");
  EXPECT_EQ(world.ready("a"), "False HostError: no room");
  EXPECT_EQ(world.since("a"), waiting_since);  // of the status, not of the reason
  world.say("a", R"({"ifcName":"f1","hostIP":"192.0.2.1","errors":null})");
  EXPECT_EQ(world.ready("a"), "True Implemented: interface f1 of node n1");
  EXPECT_NE(world.since("a"), waiting_since);
  // Nobody else decides it.
  world.say("a", R"({"conditions":[{"type":"Ready","status":"False","reason":"Lie"}]})");
  EXPECT_EQ(world.ready("a"), "True Implemented: interface f1 of node n1");
  world.ask("admin", "DELETE", kOurs + "subnets/s");
  world.runtime.advance(1s);
  EXPECT_EQ(world.ready("a"), "False NoAddress: Subnet s does not exist");
}

// It is ready when its hook has ended well, and says so when it did not, or not in time.
TEST(Readiness, WaitsForTheHook) {
  World world;
  world.subnet();
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  for (const char* name : {"a", "b", "c"}) {
    world.attach(name, "n1", hook);
    world.say(name, R"({"ifcName":"f1","hostIP":"192.0.2.1"})");
    EXPECT_EQ(world.ready(name), "False HookPending: postCreateExec has not ended yet");
  }
  const auto report = [](int status, const char* said) {
    return fmt::format(
        R"({{"postCreateExecReport":{{"command":["/bin/hook"],"exitStatus":{},"stdErr":"{}"}}}})",
        status, said);
  };
  world.say("a", report(0, ""));
  EXPECT_EQ(world.ready("a"), "True Implemented: interface f1 of node n1");
  world.say("b", report(7, "oops\\n"));
  EXPECT_EQ(world.ready("b"),
            "False HookFailed: postCreateExec: /bin/hook ended with status 7: oops");
  world.say("c", report(networks::kHookTimedOut, "fairlead: killed after 30 s\\n"));
  EXPECT_EQ(world.ready("c"),
            "False HookTimedOut: postCreateExec: /bin/hook ended with status -3: fairlead: killed "
            "after 30 s");
  EXPECT_EQ(world.events("b").front(),
            "HookFailed by fairlead-agent/n1: /bin/hook ended with status 7: oops");
}

// An agent that falls silent is named by all attachments of its node, those made meanwhile
// included; when it is back they are what they were.
TEST(Readiness, SilentAgentsAreNamed) {
  World world;
  world.create(kReports, JsonObject{{"metadata", JsonObject{{"name", "n2"}}}});
  world.subnet();
  world.attach("made");
  world.say("made", R"({"ifcName":"f1","hostIP":"192.0.2.1"})");
  world.attach("waiting");
  world.attach("elsewhere", "n2");
  world.silence("2030-06-01T00:00:07Z");
  EXPECT_EQ(world.ready("made"),
            "Unknown AgentSilent: agent of n1 silent since "
            "2030-06-01T00:00:07Z");
  EXPECT_EQ(world.ready("waiting"),
            "False AgentSilent: agent of n1 silent since "
            "2030-06-01T00:00:07Z");
  EXPECT_EQ(world.ready("elsewhere"), "False AwaitsNode: node n2 has not made the interface yet");
  world.attach("late");
  EXPECT_EQ(world.ready("late"),
            "False AgentSilent: agent of n1 silent since "
            "2030-06-01T00:00:07Z");
  EXPECT_EQ(world.events("late"),
            std::vector<std::string>{"AgentSilent by fairlead-ipam/: agent of n1 silent since "
                                     "2030-06-01T00:00:07Z"});
  world.silence(nullptr);
  EXPECT_EQ(world.ready("made"), "True Implemented: interface f1 of node n1");
  EXPECT_EQ(world.ready("waiting"), "False AwaitsNode: node n1 has not made the interface yet");
  EXPECT_EQ(world.ready("late"), "False AwaitsNode: node n1 has not made the interface yet");
}

// A node that nobody knows is told of, in the condition and as an Event; so is one that was deleted
// with attachments on it.
TEST(Readiness, UnknownAndDeletedNodesAreNamed) {
  World world;
  world.subnet();
  world.attach("lost", "nowhere");
  EXPECT_EQ(world.ready("lost"),
            "False NodeUnknown: node nowhere is not known: no agent has reported from there");
  EXPECT_EQ(world.events("lost"),
            std::vector<std::string>{"NodeUnknown by fairlead-ipam/: node nowhere is not known: no "
                                     "agent has reported from there"});
  world.attach("a");
  world.say("a", R"({"ifcName":"f1","hostIP":"192.0.2.1"})");
  world.ask("admin", "DELETE", kReports + "/n1");
  world.runtime.advance(1s);
  EXPECT_EQ(world.ready("a"), "False NodeUnknown: node n1 is not known any more: it was deleted");
  world.create(kReports, JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  world.runtime.advance(1s);
  EXPECT_EQ(world.ready("a"), "True Implemented: interface f1 of node n1");
}

// Every attachment of a node that a person makes has its Events, hooks that are not allowed
// included; agents write none.
TEST(Readiness, EveryAttachmentIsToldOf) {
  World world;
  world.subnet();
  for (int i = 0; i < 6; ++i) world.attach(fmt::format("a{}", i));
  for (int i = 0; i < 6; ++i)
    world.say(fmt::format("a{}", i), fmt::format(R"({{"ifcName":"f{}"}})", i));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(world.events(fmt::format("a{}", i)),
              std::vector<std::string>{fmt::format(
                  "Implemented by fairlead-agent/n1: Implemented as interface f{} of node n1", i)});
  world.attach("b");
  world.say("b", R"({"errors":{"host":["no room in the switch"]}})");
  world.attach("c");
  world.say("c", wire::encode_json(JsonObject{
                     {"ifcName", "fc"},
                     {"errors", JsonObject{{"host", JsonArray{networks::hook_not_allowed(
                                                        "postCreateExec", "/bin/other")}}}}}));
  EXPECT_EQ(world.events("b"),
            std::vector<std::string>{"ImplementationFailed by fairlead-agent/n1: no room in the "
                                     "switch"});
  EXPECT_EQ(world.events("c").front(),
            "HookNotAllowed by fairlead-agent/n1: postCreateExec: /bin/other is not an allowed "
            "program on this node");
}

// What an older server stored without the condition gets it when this one starts.
TEST(Readiness, OldObjectsGetIt) {
  const std::string old = R"({"status":{"ipv4":"10.0.0.5"}})";
  EXPECT_FALSE(tells_readiness(old));
  EXPECT_EQ(told_state(old), AgentWord::State::present);
  TestApi server;  // an API without the controllers: as an older one wrote it
  server.create(kReports, JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  server.create(kOurs + "networkattachments",
                JsonObject{{"metadata", JsonObject{{"name", "a"}}},
                           {"spec", JsonObject{{"node", "n1"}, {"subnet", "s"}}}});
  watchcache::WatchCache cache(server.runtime, server.store, server.catalog);
  apiserver::ObjectWriter writer(server.store, cache);
  metrics::Registry metrics;
  controllers::ServerEvents events(server.runtime, server.catalog, writer, metrics);
  VirtualNetworks networks({server.runtime, server.catalog, cache, writer, events, metrics});
  struct Follow {
    static Task<void> run(watchcache::WatchCache& cache) { (void)co_await cache.run(); }
  };
  runtime::Scope scope(server.runtime);
  scope.spawn(Follow::run(cache));
  scope.spawn(networks.run());
  server.runtime.advance(2s);
  const Json object = server.ask("admin", "GET", kOurs + "networkattachments/a")->json();
  const Json* ready = resource::find_condition(object, resource::kReady);
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(wire::find_string(*ready, "reason"), "NoAddress");
}

}  // namespace
}  // namespace fairlead::ipam
