// The programs themselves, as their mains wire them, through weeks of virtual time: what runs in
// the background is there to be started by the wiring, and nobody would miss it for a long while if
// it was not. A server with its authority, a node that joins and runs the agent, an administrator.
//
// Certificates are renewed and used, expired tokens and Events are gone, history is compacted, and
// after all that the node still does what it is told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/client/join_tokens.h"
#include "api/client/rest_client.h"
#include "api/identity/authority.h"
#include "api/identity/join.h"
#include "api/store/memory_store.h"
#include "features/networks/node/networks_settings.h"
#include "foundation/base/check.h"
#include "foundation/base/log.h"
#include "node/join/join_client.h"
#include "node/join/join_files.h"
#include "program/agent_config.h"
#include "program/agent_run.h"
#include "program/server_program.h"
#include "sim/models/lagging_store.h"
#include "sim/models/sim_fabric.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

const client::ResourceName kEvents{"", "v1", "events", true};
const client::ResourceName kSubnets{"fairlead.dev", "v1alpha1", "subnets", true};
const client::ResourceName kAttachments{"fairlead.dev", "v1alpha1", "networkattachments", true};

constexpr Duration kDay = 24h;
const std::string kData = "/data";
const std::string kJoined = "/node";
constexpr std::uint16_t kPort = 6443;

template <class T>
T must(Result<T> result) {
  if (!result) check_failed(result.error().message.c_str(), __FILE__, __LINE__);
  return std::move(*result);
}

struct Story {
  explicit Story(World& in)
      : world(in),
        server(in.add_machine("server", {.uptime = 1h})),
        node(in.add_machine("n1", {.uptime = 1h})),
        admin(in.add_machine("admin", {.uptime = 1h})),
        // Only compaction makes it forget.
        store(server, {.history_changes = 1'000'000}),
        plane(node, [](const std::string&, const fabric::Station*) {}),
        processes(plane) {}

  World& world;
  Machine& server;
  Machine& node;
  Machine& admin;
  store::MemoryStore store;
  HostPlane plane;
  SimProcesses processes;
  command::StopRequest stop_server;
  command::StopRequest stop_agent;
  std::string url;  // of the server that is ready
  bool server_ended = false;
  bool agent_ready = false;
  std::string join_token;  // good for a day

  runtime::Endpoint endpoint() const { return {.host = server.address(), .port = kPort}; }
  std::string server_file(const std::string& name) {
    return must(server.files().read(kData + "/" + name));
  }
  WallTime now() { return world.wall_now(); }
};

// ---- the three machines

// The authority as an earlier server left it: its certificate is due for renewal in a day.
void age_authority(Story& story) {
  const Ip address = *Ip::parse(story.server.address());
  const WallTime due = story.now() + kDay;
  Machine& machine = story.server;
  CHECK(machine.files().make_directories(kData + "/pki", 0700).has_value());
  const auto authority = must(identity::Authority::open(
      machine.files(), {.folder = kData + "/pki", .server_names = {.dns = {}, .ips = {address}}},
      due - identity::kServerLife * 2 / 3, [&machine] { return machine.random(); }));
  CHECK(!identity::needs_renewal(authority->server_certificate(), story.now()));
  CHECK(identity::needs_renewal(authority->server_certificate(), story.now() + 2 * kDay));
}

Task<void> run_server(Machine& machine, Story& story) {
  program::ServerFlags flags;
  flags.data = kData;
  flags.listen = {fmt::format("{}:{}", machine.address(), kPort)};
  const program::ServerConfig config = must(program::check_flags(flags));
  program::ServerSurroundings surroundings{
      .open_store = [&](metrics::Registry&) -> Result<program::OpenedStore> {
        return program::used_alone(std::make_unique<LaggingStore>(machine, story.store), "memory");
      },
      .tell_ready = [&story](const std::string& url, const std::string&) { story.url = url; },
      .give_back_memory = [] {}};
  const Result<> outcome =
      co_await program::run_server(machine, config, std::move(surroundings), story.stop_server);
  CHECK(outcome.has_value());
  story.server_ended = true;
}

Task<Result<join::JoinOutcome>> join(Machine& machine, Story& story, std::string node) {
  join::JoinClient client(machine,
                          {.servers = {story.endpoint()},
                           .token = story.join_token,
                           .node = std::move(node),
                           .folder = kJoined},
                          [&machine](const std::string& text) { machine.note(text); });
  co_return co_await client.run();
}

Task<void> run_node(Machine& machine, Story& story) {
  while (story.join_token.empty())
    if (!co_await runtime::sleep(machine, 1s)) co_return;
  const Result<join::JoinOutcome> joined = co_await join(machine, story, machine.name());
  CHECK(joined.has_value());
  program::AgentFlags flags;
  flags.fields = {{"--host-ip", {"192.0.2.1"}},
                  {"--join-dir", {kJoined}},
                  {"--audit-interval", {"1h"}},
                  {"--metrics-listen", {"none"}},
                  {"--admin-socket", {"none"}}};
  const program::AgentConfig config = must(program::read_config(flags, machine.files(), {}));
  agent::AgentOptions options = must(program::read_options(config, machine.files()));
  SimFabric fabric(story.plane);
  resource::FieldErrors errors;
  networks::NetworksConfig networks = networks::check_networks(config.file.value(), errors);
  CHECK(errors.empty());
  std::vector<agent::FeaturePlan> features{networks::networks_feature(
      std::move(networks.options), {.fabric = fabric, .processes = story.processes})};
  const auto told = [&story](agent::NodeAgent&) { story.agent_ready = true; };
  const Result<> outcome = co_await program::run_agent(machine, std::move(options),
                                                       std::move(features), told, story.stop_agent);
  CHECK(outcome.has_value());
}

// ---- what the administrator does

std::unique_ptr<client::RestClient> connect_admin(Story& story) {
  std::string token = story.server_file("admin.token");
  while (token.ends_with('\n')) token.pop_back();
  return must(client::RestClient::open(
      story.admin,
      {.server = story.url, .ca = story.server_file("pki/ca.crt"), .token = std::move(token)}));
}

// Runs the task on the administrator's machine until it has ended.
template <class T>
Task<void> keep_outcome(Task<T> task, std::optional<T>& outcome) {
  outcome.emplace(co_await task);
}
template <class T>
T ask(Story& story, Task<T> task) {
  std::optional<T> outcome;
  runtime::Scope scope(story.admin);
  scope.spawn(keep_outcome(std::move(task), outcome));
  CHECK(story.world.run_until([&] { return outcome.has_value(); }, 10min));
  return std::move(*outcome);
}

Json event(Story& story) {
  return JsonObject{
      {"metadata", JsonObject{{"name", "old"}, {"namespace", "default"}}},
      {"involvedObject", JsonObject{{"kind", "Subnet"}, {"name", "s"}, {"namespace", "default"}}},
      {"reason", "Told"},
      {"message", story.url},
      {"type", "Normal"}};
}

Json attachment(const std::string& name) {
  return JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                    {"spec", JsonObject{{"node", "n1"}, {"subnet", "s"}}}};
}

void make_join_token(Story& story, client::RestClient& api) {
  const client::NewJoinToken wanted{.life = kDay, .description = "for the story"};
  const identity::JoinToken token =
      must(ask(story, client::create_join_token(api, story.server_file("pki/ca.crt"), wanted)));
  story.join_token = token.to_string();
}

// An attachment made now is carried by the node, as its status says.
bool gets_carried(Story& story, client::RestClient& api, const std::string& name) {
  must(ask(story, api.create(kAttachments, "default", attachment(name))));
  for (int tries = 0; tries < 30; ++tries) {
    const Result<Json> now = ask(story, api.get(kAttachments, "default", name));
    if (now && wire::find_string(*now, "status.hostIP") == "192.0.2.1") return true;
    story.world.run_for(10s);
  }
  return false;
}

// The certificate that the server shows to whoever comes now.
Task<Result<std::string>> shown_certificate(Story& story) {
  auto anyone = std::make_shared<runtime::TlsCredentials>();
  anyone->trusted_ca = story.server_file("pki/ca.crt");
  anyone->alpn = {"h2"};
  FL_CO_TRY(const std::unique_ptr<runtime::Stream> stream,
            co_await story.admin.connect(story.endpoint(), anyone));
  co_return stream->peer().certificate;
}

identity::Certificate server_certificate(Story& story) {
  return must(identity::Certificate::parse_pem(must(ask(story, shown_certificate(story)))));
}

identity::Certificate node_certificate(Story& story) {
  return must(
      identity::Certificate::parse_pem(must(story.node.files().read(kJoined + "/node.crt"))));
}

Task<Result<>> history_from_the_first_revision(Story& story) {
  FL_CO_TRY(const std::unique_ptr<store::Watch> watch, story.store.watch("", 1));
  FL_CO_CHECKED(co_await watch->next());
  co_return Result<>{};
}

// ---- the story

TEST(Programs, KeepThemselvesGoingForWeeks) {
  log::set_level(log::Level::error);
  World world(1);
  Story& story = world.own<Story>(world);
  age_authority(story);
  story.server.start([&story](Machine& machine) { return run_server(machine, story); });
  ASSERT_TRUE(world.run_until([&] { return !story.url.empty(); }, 1min));
  const std::unique_ptr<client::RestClient> api = connect_admin(story);
  make_join_token(story, *api);
  story.node.start([&story](Machine& machine) { return run_node(machine, story); });
  must(ask(story,
           api->create(kSubnets, "default",
                       JsonObject{{"metadata", JsonObject{{"name", "s"}}},
                                  {"spec", JsonObject{{"vni", 7}, {"ipv4", "10.0.0.0/24"}}}})));
  must(ask(story, api->create(kEvents, "default", event(story))));
  ASSERT_TRUE(world.run_until([&] { return story.agent_ready; }, 1min));
  EXPECT_TRUE(gets_carried(story, *api, "early"));
  const identity::Certificate first_server = server_certificate(story);
  const identity::Certificate first_node = node_certificate(story);
  EXPECT_TRUE(ask(story, history_from_the_first_revision(story)));

  // An hour and a half: the Event is gone, and what happened at first is compacted.
  world.run_for(90min);
  const Result<Json> old_event = ask(story, api->get(kEvents, "default", "old"));
  EXPECT_TRUE(!old_event && old_event.error().code == Code::not_found) << "Events do not expire";
  const Result<> history = ask(story, history_from_the_first_revision(story));
  EXPECT_TRUE(!history && history.error().code == Code::gone) << "history is not compacted";

  // Two days: the server has a new certificate and shows it; the token for joining is too old.
  world.run_for(2 * kDay);
  EXPECT_GT(server_certificate(story).validity().not_after, first_server.validity().not_after)
      << "the server's certificate was not renewed";
  const Result<join::JoinOutcome> late = ask(story, join(story.admin, story, "n2"));
  EXPECT_TRUE(!late && late.error().code == Code::unauthorized) << "join tokens do not expire";

  // The life of the node's certificate and a day: it was renewed, and the node is still one.
  world.run_for(identity::kNodeLife - kDay);
  EXPECT_GT(story.now(), first_node.validity().not_after);
  EXPECT_GT(node_certificate(story).validity().not_after, story.now())
      << "the node's certificate was not renewed";
  EXPECT_TRUE(gets_carried(story, *api, "late")) << "the node does not use its new certificate";

  // Asked to stop, both do.
  story.stop_agent.ask();
  story.stop_server.ask();
  EXPECT_TRUE(world.run_until([&] { return story.server_ended; }, 30s));
  std::printf("%llu events of the virtual world in %lld days\n",
              static_cast<unsigned long long>(world.events()),
              static_cast<long long>((world.now().time_since_epoch()) / kDay));
}

}  // namespace
}  // namespace fairlead::sim
