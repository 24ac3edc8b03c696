#include "program/server_config.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::program {
namespace {

ServerFlags flags_with(void (*change)(ServerFlags&)) {
  ServerFlags flags;
  flags.data = "/somewhere";
  change(flags);
  return flags;
}

// What is not given stays as the HTTP server has it: the two lists of defaults agree.
TEST(ServerConfig, DefaultsAreThoseOfTheHttpServer) {
  const Result<ServerConfig> config = check_flags(flags_with([](ServerFlags&) {}));
  ASSERT_TRUE(config) << config.error().message;
  const http::Limits wanted;
  EXPECT_EQ(config->limits.handshake_time, wanted.handshake_time);
  EXPECT_EQ(config->limits.header_time, wanted.header_time);
  EXPECT_EQ(config->limits.body_time, wanted.body_time);
  EXPECT_EQ(config->limits.idle_time, wanted.idle_time);
  EXPECT_EQ(config->limits.write_stall_time, wanted.write_stall_time);
  EXPECT_EQ(config->limits.connections, wanted.connections);
  EXPECT_EQ(config->drain, 10s);
}

// Each flag reaches its own limit.
TEST(ServerConfig, LimitsFollowTheFlags) {
  const Result<ServerConfig> config = check_flags(flags_with([](ServerFlags& flags) {
    flags.handshake_seconds = 1;
    flags.header_seconds = 2;
    flags.body_seconds = 3;
    flags.idle_seconds = 4;
    flags.stall_seconds = 0.5;
    flags.max_connections = 6;
  }));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->limits.handshake_time, 1s);
  EXPECT_EQ(config->limits.header_time, 2s);
  EXPECT_EQ(config->limits.body_time, 3s);
  EXPECT_EQ(config->limits.idle_time, 4s);
  EXPECT_EQ(config->limits.write_stall_time, 500ms);
  EXPECT_EQ(config->limits.connections, 6u);
}

struct Refusal {
  const char* named;
  void (*change)(ServerFlags&);
};

// A wrong value is refused, and the message names the flag.
TEST(ServerConfig, RefusalsNameTheFlag) {
  const Refusal refusals[] = {
      {"--data", [](ServerFlags& flags) { flags.data.clear(); }},
      {"--listen", [](ServerFlags& flags) { flags.listen = {"nonsense"}; }},
      {"--store", [](ServerFlags& flags) { flags.store = "paper"; }},
      {"--store", [](ServerFlags& flags) { flags.store = "etcd:"; }},
      {"--audit-level",
       [](ServerFlags& flags) {
         flags.audit_log = "-";
         flags.audit_level = "everything";
       }},
      {"--etcd-cert", [](ServerFlags& flags) { flags.etcd_cert = "a.pem"; }},
      {"--drain-seconds", [](ServerFlags& flags) { flags.drain_seconds = -1; }},
      {"--drain-seconds", [](ServerFlags& flags) { flags.drain_seconds = NAN; }},
      {"--handshake-seconds", [](ServerFlags& flags) { flags.handshake_seconds = 0; }},
      {"--header-seconds", [](ServerFlags& flags) { flags.header_seconds = -3; }},
      {"--body-seconds", [](ServerFlags& flags) { flags.body_seconds = 1e9; }},
      {"--idle-seconds", [](ServerFlags& flags) { flags.idle_seconds = NAN; }},
      {"--stall-seconds", [](ServerFlags& flags) { flags.stall_seconds = 0.01; }},
      {"--joins-per-second", [](ServerFlags& flags) { flags.joins_per_second = 0; }},
      {"--joins-per-second", [](ServerFlags& flags) { flags.joins_per_second = NAN; }},
      {"--max-connections", [](ServerFlags& flags) { flags.max_connections = 0; }},
      {"--agent-token-audience", [](ServerFlags& flags) { flags.agent_token_audience = "a"; }},
      {"--agent-service-account",
       [](ServerFlags& flags) {
         flags.host_kubeconfig = "in-cluster";
         flags.agent_token_audience = "a";
         flags.agent_service_account = "agent";
       }},
  };
  for (const Refusal& refusal : refusals) {
    const Result<ServerConfig> config = check_flags(flags_with(refusal.change));
    ASSERT_FALSE(config) << refusal.named;
    EXPECT_EQ(config.error().code, Code::invalid) << refusal.named;
    EXPECT_TRUE(config.error().message.starts_with(refusal.named)) << config.error().message;
  }
}

// Where objects are kept.
TEST(ServerConfig, Stores) {
  using Kind = StoreChoice::Kind;
  EXPECT_EQ(parse_store("sqlite", "/d")->location, "/d");
  EXPECT_EQ(parse_store("sqlite:/other", "/d")->location, "/other");
  EXPECT_EQ(parse_store("memory", "/d")->kind, Kind::memory);
  const Result<StoreChoice> etcd = parse_store("etcd:http://a:1,http://b:2", "/d");
  ASSERT_TRUE(etcd);
  EXPECT_EQ(etcd->kind, Kind::etcd);
  EXPECT_EQ(etcd->location, "http://a:1,http://b:2");
}

}  // namespace
}  // namespace fairlead::program
