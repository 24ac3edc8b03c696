// Rights that take a second question: writes that may create, and speaking for others.
#include "api/apiserver/access.h"

#include <gtest/gtest.h>

#include <set>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

// Rights as a host cluster has them: "verb resource/subresource namespace/name" as far as each is
// given. The administrator may do everything; answers are given only when waited for.
class Granted final : public identity::Authorizer {
 public:
  std::optional<Result<identity::Decision>> authorize_now(const identity::Attributes&) override {
    return std::nullopt;
  }
  Task<Result<identity::Decision>> authorize(const identity::Attributes& wanted) override {
    if (wanted.user->in_group(identity::kMastersGroup)) co_return identity::Decision::allow();
    std::string text = std::string(wanted.verb) + " " + std::string(wanted.resource);
    if (!wanted.subresource.empty()) text += "/" + std::string(wanted.subresource);
    if (wanted.verb == "impersonate") {
      text += " ";
      if (!wanted.namespace_.empty()) text += std::string(wanted.namespace_) + "/";
      text += wanted.name;
    }
    asked.push_back(text);
    if (grants.contains(text)) co_return identity::Decision::allow();
    co_return identity::Decision::deny({});
  }
  std::set<std::string> grants;
  std::vector<std::string> asked;
};

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kEndpoints = "/api/v1/namespaces/default/endpoints";
constexpr std::string_view kApply = "application/apply-patch+yaml";

std::string config_map(std::string_view value) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"k":")" +
         std::string(value) + "\"}}";
}

// Who may not ask learns nothing of what is wrong with the question: 401 and 403 come before 400,
// and repeat nothing of the query.
TEST(Access, ComesBeforeTheQuery) {
  TestServer server;
  const char* const queries[] = {"?fieldSelector=reflect-me%3D%3D%3D%2C",
                                 "?fieldSelector=reflect-me", "?labelSelector=reflect-me%20in%20(",
                                 "?limit=reflect-me", "?fieldSelector=%zzreflect-me"};
  for (const char* query : queries) {
    for (const char* method : {"GET", "DELETE"}) {
      const std::string target = "/api/v1/secrets" + std::string(query);
      for (const char* stranger : {"", "guessed"}) {
        const auto unknown = server.ask(stranger, method, target);
        EXPECT_EQ(unknown->status, 401) << method << " " << target << ": " << unknown->text;
        EXPECT_EQ(unknown->text.find("reflect-me"), std::string::npos) << unknown->text;
      }
      // An escape that is none makes the whole target unreadable.
      const auto viewer = server.ask("viewer", method, target);
      EXPECT_EQ(viewer->status, target.find("%zz") == target.npos ? 403 : 400) << target;
    }
    const auto admin = server.ask("admin", "GET", "/api/v1/secrets" + std::string(query));
    EXPECT_EQ(admin->status, 400) << query << ": " << admin->text;
  }
}

// Server-side apply and an update that makes the object need the right to create it; changing one
// that is there does not.
TEST(Access, MakingAnObjectNeedsTheRightToCreateIt) {
  Granted granted;
  TestServer server({}, {}, &granted);
  granted.grants = {"patch configmaps", "update endpoints"};
  const std::string apply = std::string(kMaps) + "/m?fieldManager=t";
  const auto refused = server.ask("nobody", "PATCH", apply, config_map("1"), kApply);
  EXPECT_EQ(refused->status, 403) << refused->text;
  EXPECT_NE(refused->text.find("cannot create resource"), std::string::npos) << refused->text;
  EXPECT_FALSE(server.exists(std::string(kMaps) + "/m"));
  const std::string body = R"({"metadata":{"name":"l"}})";
  EXPECT_EQ(server.ask("nobody", "PUT", std::string(kEndpoints) + "/l", body)->status, 403);
  EXPECT_FALSE(server.exists(std::string(kEndpoints) + "/l"));

  granted.grants = {"patch configmaps", "update endpoints", "create configmaps",
                    "create endpoints"};
  EXPECT_EQ(server.ask("nobody", "PATCH", apply, config_map("1"), kApply)->status, 201);
  EXPECT_EQ(server.ask("nobody", "PUT", std::string(kEndpoints) + "/l", body)->status, 201);
  granted.grants = {"patch configmaps", "update endpoints"};
  EXPECT_EQ(server.ask("nobody", "PATCH", apply, config_map("2"), kApply)->status, 200);
  EXPECT_EQ(server.ask("nobody", "PUT", std::string(kEndpoints) + "/l", body)->status, 200);
}

// The same for an operation of a transaction.
TEST(Access, TransactionsCreateByUpdateOnlyWithTheRight) {
  Granted granted;
  TestServer server({}, {}, &granted);
  const std::string body =
      R"({"operations":[{"verb":"update","object":{"apiVersion":"coordination.k8s.io/v1",)"
      R"("kind":"Lease","metadata":{"name":"l","namespace":"default"},"spec":{}}}]})";
  const std::string path = "/apis/fairlead.dev/v1alpha1/transactions";
  granted.grants = {"create transactions", "update leases"};
  const auto refused = server.ask("nobody", "POST", path, body);
  EXPECT_EQ(refused->status, 403) << refused->text;
  granted.grants.insert("create leases");
  EXPECT_EQ(server.ask("nobody", "POST", path, body)->status, 201);
}

// Who speaks for another needs every right of it, as Kubernetes asks for them.
TEST(Access, EveryPartOfAnImpersonationIsAskedFor) {
  struct Case {
    std::vector<std::pair<std::string, std::string>> headers;
    std::vector<std::string> rights;
  };
  const Case cases[] = {
      {{{"Impersonate-User", "jane"}}, {"impersonate users jane"}},
      {{{"Impersonate-User", "system:serviceaccount:apps:builder"}},
       {"impersonate serviceaccounts apps/builder"}},
      {{{"Impersonate-User", "jane"}, {"Impersonate-Group", "dev"}},
       {"impersonate users jane", "impersonate groups dev"}},
      {{{"Impersonate-User", "jane"}, {"Impersonate-Uid", "u1"}},
       {"impersonate users jane", "impersonate uids u1"}},
      {{{"Impersonate-User", "jane"}, {"Impersonate-Extra-scopes", "view"}},
       {"impersonate users jane", "impersonate userextras/scopes view"}},
  };
  for (const Case& c : cases) {
    Granted granted;
    TestServer server({}, {}, &granted);
    const auto ask = [&] {
      http::Request request;
      request.target = kMaps;
      request.headers.add("Authorization", "Bearer nobody");
      for (const auto& [name, value] : c.headers) request.headers.add(name, value);
      TestExchange exchange(std::move(request), {});
      server.fibers.spawn(server.api.serve(exchange));
      server.runtime.settle();
      return exchange.status;
    };
    const std::set<std::string> all(c.rights.begin(), c.rights.end());
    granted.grants = all;
    granted.grants.insert("list configmaps");
    EXPECT_EQ(ask(), 200) << c.rights.back();
    EXPECT_EQ(std::vector<std::string>(granted.asked.begin(), granted.asked.end() - 1), c.rights);
    for (const std::string& missing : c.rights) {
      granted.grants = all;
      granted.grants.insert("list configmaps");
      granted.grants.erase(missing);
      EXPECT_EQ(ask(), 403) << "without " << missing;
    }
  }
}

}  // namespace
}  // namespace fairlead::apiserver
