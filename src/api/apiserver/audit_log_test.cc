#include "api/apiserver/audit_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kSecretText =
    R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default",)"
    R"("annotations":{"copy":"c3ludGF4"}},"data":{"p":"c3ludGF4"},"stringData":{"q":"c3ludGF4"}})";

// Everything that a log says after these requests at `level`.
std::string logged(AuditLevel level) {
  TestServer server;
  std::string log;
  server.api.set_audit({level, [&log](std::string line) { log.append(line); }});
  const std::string map = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",)"
                          R"("namespace":"default"},"data":{"shown":"lantern"}})";
  const std::string secret(kSecretText);
  server.ask("admin", "POST", "/api/v1/namespaces/default/configmaps", map);
  server.ask("admin", "POST", "/api/v1/namespaces/default/secrets", secret);
  server.ask("admin", "PATCH", "/api/v1/namespaces/default/secrets/s",
             R"({"data":{"p":"c3ludGF4"}})", "application/merge-patch+json");
  const std::string transactions = "/apis/fairlead.dev/v1alpha1/transactions";
  server.ask("admin", "POST", transactions,
             R"({"operations":[{"verb":"update","object":)" + secret + "}]}");
  server.ask("admin", "POST", transactions, "operations: [{object: c3ludGF4}]", "application/yaml");
  server.ask("admin", "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
             R"({"spec":{"token":"c3ludGF4"}})");
  server.ask("guessed", "GET", "/api/v1/namespaces");
  server.ask("admin", "POST", "/api/v1/namespaces/default/configmaps", "\xff\xfe");
  return log;
}

// At either level no secret and no token is written; bodies only where they were asked for.
TEST(AuditLog, ContainsNoSecrets) {
  for (const AuditLevel level : {AuditLevel::metadata, AuditLevel::request}) {
    const std::string log = logged(level);
    EXPECT_EQ(std::ranges::count(log, '\n'), 8) << log;
    EXPECT_EQ(log.find("c3ludGF4"), std::string::npos) << log;
    EXPECT_EQ(log.find("guessed"), std::string::npos) << log;
    EXPECT_EQ(log.find("lantern") != std::string::npos, level == AuditLevel::request);
    EXPECT_NE(log.find(R"("resource":"secrets")"), std::string::npos) << log;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(wire::parse_json(line)) << line;
  }
}

// What strangers send is not kept: neither their bodies nor more than the beginning of their paths.
// Long bodies of others are left out too, and the record says so.
TEST(AuditLog, KeepsLittleOfStrangers) {
  TestServer server;
  std::string log;
  server.api.set_audit({AuditLevel::request, [&log](std::string line) { log.append(line); }});
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const auto map = [](const char* name, std::size_t size) {
    return R"({"metadata":{"name":")" + std::string(name) + R"("},"data":{"text":")" +
           std::string(size, 'x') + R"("}})";
  };
  for (const char* stranger : {"", "guessed"}) {
    log.clear();
    EXPECT_EQ(server.ask(stranger, "POST", maps + "?" + std::string(5'000, 'q'), map("a", 10'000))
                  ->status,
              401);
    EXPECT_EQ(std::ranges::count(log, '\n'), 1);
    EXPECT_LT(log.size(), 2'000u) << log;
    EXPECT_EQ(log.find("requestObject"), std::string::npos);
  }
  log.clear();
  EXPECT_EQ(server.ask("admin", "POST", maps, map("b", 10'000))->status, 201);
  EXPECT_GT(log.size(), 10'000u);
  log.clear();
  EXPECT_EQ(server.ask("admin", "POST", maps, map("c", 100'000))->status, 201);
  EXPECT_LT(log.size(), 2'000u);
  EXPECT_NE(log.find(R"("audit.k8s.io/truncated":"true")"), std::string::npos) << log;
}

}  // namespace
}  // namespace fairlead::apiserver
