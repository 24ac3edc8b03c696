// The agent's file: what is wrong is told with file, line, column and path; flags override it.
#include "node/agent/config_file.h"

#include <gtest/gtest.h>

#include "node/agent/agent_settings.h"

namespace fairlead::agent {
namespace {

// A feature with two top-level fields and a rule of its own.
struct Peer {
  std::string name;
  std::int32_t port = 0;
  template <class V>
  static void describe(V& v) {
    v.field("name", &Peer::name).required().description("Its name.");
    v.field("port", &Peer::port)
        .minimum(1)
        .maximum(65535)
        .default_value(7)
        .description("Its port.");
  }
};

FeatureType test_type() {
  return {.name = "test",
          .fields = {{.name = "peers", .schema = resource::schema_of<std::vector<Peer>>()},
                     {.name = "lease", .schema = resource::schema_of<std::string>()}},
          .plan = [](const Json& config, resource::FieldErrors& errors) -> FeaturePlan {
            const Json* lease = wire::find(config, "lease");
            if (lease && lease->as_string() == "never")
              errors.push_back(resource::invalid("lease", *lease, "must end some day"));
            return {.name = "test", .needs_api = false, .make = nullptr};
          }};
}

std::string outcome(const std::string& text, std::vector<FlagValue> flags = {}) {
  Result<ConfigFile> file = ConfigFile::parse("a.yaml", text);
  if (!file) return file.error().message;
  file->lay_over(std::move(flags));
  const Result<AgentPlan> plan = plan_agent(*file, {test_type()});
  if (!plan) return plan.error().message;
  return "ok, " + std::to_string(plan->features.size()) + " features, node " + plan->settings.node +
         ", level " + plan->settings.log.level + ", metrics " + plan->settings.metrics_listen;
}

TEST(ConfigFile, TellsWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"", "ok, 0 features, node , level info, metrics 127.0.0.1:9294"},
      {"node: a\nlog: {level: debug}\n",
       "ok, 0 features, node a, level debug, metrics 127.0.0.1:9294"},
      {"node: a\nlog:\n", "ok, 0 features, node a, level info, metrics 127.0.0.1:9294"},
      {"peers: [{name: b}]\n", "ok, 1 features, node , level info, metrics 127.0.0.1:9294"},
      {"lease: 1s\npeers:\n- {name: b}\n",
       "ok, 1 features, node , level info, metrics 127.0.0.1:9294"},
      {"node: a\nnodes: b\n", "a.yaml:2:1: nodes: there is no such field"},
      {"log:\n  levle: info\n", "a.yaml:2:3: log.levle: there is no such field"},
      {"peers:\n- name: b\n- name: c\n  prot: 3\n",
       "a.yaml:4:3: peers[1].prot: there is no such field"},
      {"node: a\nnode: b\n", "a.yaml:2:1: node: is given twice"},
      {"node: [1]\n", "a.yaml:1:1: node: "},
      {"log:\n  level: loud\n", "a.yaml:2:3: log.level: Unsupported value: \"loud\""},
      {"peers:\n- port: 1\n", "a.yaml:2:3: peers[0].name: must be given"},
      {"peers:\n- {name: b, port: 70000}\n", "a.yaml:2:13: peers[0].port: "},
      {"peers: 5\n", "a.yaml:1:1: peers: "},
      {"node: a\nlease: never\n", "a.yaml:2:1: lease: must end some day"},
      {"- a\n", "a.yaml:1:1: must be a map of fields"},
      {"a: b: c\n", "a.yaml:1:"},
      {"a: [1\n", "a.yaml:2:"},
      {"{\n", "a.yaml:2:"},
      {"a: &x {b: *x}\n", "a.yaml:1:"},
      {std::string("a: \xff\n"), "a.yaml:1:1: YAML text is not UTF-8"},
      {std::string(kMostConfigBytes + 1, '#'), "a.yaml:1:1: YAML text of"},
  };
  for (const auto& [text, told] : rows) {
    const std::string said = outcome(text);
    EXPECT_TRUE(said.starts_with(told)) << text.substr(0, 80) << "\n  said: " << said;
  }
}

TEST(ConfigFile, FlagsOverrideTheFile) {
  EXPECT_EQ(outcome("node: a\nmetricsListen: none\n", {{"--node", "node", Json("b")}}),
            "ok, 0 features, node b, level info, metrics none");
  EXPECT_EQ(outcome("node: a\n", {{"--log-level", "log.level", Json("debug")},
                                  {"--node", "node", std::nullopt}}),
            "ok, 0 features, node a, level debug, metrics 127.0.0.1:9294");
  EXPECT_EQ(outcome("lease: 1s\n", {{"--lease", "lease", Json("never")}}),
            "--lease never: must end some day");
  EXPECT_EQ(outcome("log: 5\n", {{"--log-level", "log.level", Json("debug")}}).substr(0, 12),
            "a.yaml:1:1: ");
}

// A forgiving reader takes keys in any case, and numbers for text; what is wrong is told under the
// right name, where it stands.
TEST(ConfigFile, AcceptsLoosely) {
  const auto loosely = [](const std::string& text) -> std::string {
    Result<ConfigFile> file = ConfigFile::parse("a.yaml", text);
    if (!file) return file.error().message;
    file->accept_loosely(test_type().fields);
    const Result<AgentPlan> plan = plan_agent(*file, {test_type()});
    return plan ? wire::encode_json(*wire::find(file->value(), "peers")) : plan.error().message;
  };
  EXPECT_EQ(loosely("PEERS:\n- {NAME: 5, port: 3}\n- {Name: true}\n"),
            R"([{"name":"5","port":3},{"name":"true","port":7}])");
  EXPECT_TRUE(loosely("Peers:\n- Name: b\n  PORT: 70000\n")
                  .starts_with("a.yaml:3:3: peers[0].port: must be"));
  EXPECT_EQ(loosely("peers: []\nPeers: []\n"), "a.yaml:2:1: peers: is given twice");
  EXPECT_EQ(loosely("peers: []\nNODE: a\n"), "a.yaml:2:1: NODE: there is no such field");
}

// What comes from elsewhere is told as it was written there, with all that is inside.
TEST(ConfigFile, TellsWhatWasGivenElsewhere) {
  ConfigFile none;
  none.lay_over({{.flag = "test_peers",
                  .path = "peers",
                  .value = Json(JsonArray{JsonObject{{"name", "b"}, {"port", 0}}}),
                  .text = "b:0"}});
  const Result<AgentPlan> plan = plan_agent(none, {test_type()});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "test_peers b:0: must be greater than or equal to 1");
  EXPECT_EQ(none.where("peers"), "test_peers b:0");
}

// Without a file a field that is missing is named by its flag.
TEST(ConfigFile, WithoutAFileFlagsAreNamed) {
  ConfigFile none;
  none.lay_over({{"--lease", "lease", std::nullopt}, {"--peer", "peers", Json(JsonArray{"x"})}});
  EXPECT_EQ(none.where("lease"), "--lease");
  EXPECT_EQ(none.where("peers[0]"), "--peer x");
  EXPECT_EQ(none.where("other"), "other");
}

// The documents know every field, and the schema closes every map.
TEST(ConfigFile, Documents) {
  const resource::Schema schema = config_schema({test_type()});
  const std::string page = config_reference(schema, {{.flag = "--lease", .path = "lease"}});
  for (const char* row :
       {"| `node` | text |", "| `log.level` | text | `--log-level` | default `\"info\"`; one of",
        "| `lease` | text | `--lease` |",
        "| `peers[].port` | integer |  | default `7`; 1 to 65535 | Its port. |"})
    EXPECT_NE(page.find(row), std::string::npos) << row << "\n" << page;
  const Json json = config_json_schema(schema);
  EXPECT_EQ(wire::encode_json(*wire::find(json, "additionalProperties")), "false");
  EXPECT_EQ(wire::encode_json(*wire::find(json, "properties.log.additionalProperties")), "false");
  EXPECT_EQ(wire::find_string(json, "properties.log.properties.level.default"), "info");
  EXPECT_TRUE(wire::find(json, "properties.peers.items.properties.port.maximum"));
  EXPECT_EQ(wire::encode_json(json).find("x-kubernetes"), std::string::npos);
}

// Where an agent's lock and socket are when nobody says.
TEST(AgentSettings, Paths) {
  AgentSettings settings;
  EXPECT_EQ(lock_path(settings, "n"), "/run/fairlead/agent-n.lock");
  EXPECT_EQ(admin_socket_path(settings, "n"), "/run/fairlead/agent-n.sock");
  settings.join_dir = "/var/lib/x";
  EXPECT_EQ(lock_path(settings, "n"), "/var/lib/x/agent.lock");
  EXPECT_EQ(admin_socket_path(settings, "n"), "/var/lib/x/agent.sock");
  settings.admin_socket = "none";
  EXPECT_EQ(admin_socket_path(settings, "n"), "");
  settings.admin_socket = "/tmp/s";
  EXPECT_EQ(admin_socket_path(settings, "n"), "/tmp/s");
}

}  // namespace
}  // namespace fairlead::agent
