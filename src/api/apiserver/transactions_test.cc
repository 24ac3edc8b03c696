#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kTransactions = "/apis/fairlead.dev/v1alpha1/transactions";
constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kMoorings = "/apis/fairlead.dev/v1alpha1/namespaces/default/moorings";

std::string map_of(std::string_view name, std::string_view value = "1") {
  return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}",)"
                     R"("namespace":"default"}},"data":{{"value":"{}"}}}})",
                     name, value);
}
std::string create(std::string_view name) {
  return fmt::format(R"({{"verb":"create","object":{}}})", map_of(name));
}
std::string remove(std::string_view name, std::string_view uid = "") {
  return fmt::format(R"({{"verb":"delete","apiVersion":"v1","kind":"ConfigMap","namespace":)"
                     R"("default","name":"{}","preconditions":{{"uid":"{}"}}}})",
                     name, uid);
}
template <class... Operation>
std::string all(const Operation&... operations) {
  std::string text;
  ((text.append(text.empty() ? "" : ",").append(operations)), ...);
  return R"({"operations":[)" + text + "]}";
}

// Several objects change in one step, each with a version of its own, and the answer shows them in
// order.
TEST(Transactions, ChangeTogether) {
  TestServer server;
  server.create(kMaps, wire::parse_json(map_of("old"))->value);
  const auto done = server.ask("admin", "POST", kTransactions,
                               all(create("a"), create("b"), remove("old"),
                                   fmt::format(R"({{"verb":"create","object":{}}})", map_of("c"))));
  ASSERT_EQ(done->status, 201) << done->text;
  const Json result = done->json();
  const JsonArray& results = wire::find(result, "results")->get_array();
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(wire::find_string(results[0], "metadata.name"), "a");
  EXPECT_EQ(wire::find_string(results[2], "metadata.name"), "old");
  const auto version = [&](std::size_t i) {
    return std::stoull(std::string(wire::find_string(results[i], "metadata.resourceVersion")));
  };
  EXPECT_EQ(version(1), version(0) + 1);
  EXPECT_FALSE(server.exists(std::string(kMaps) + "/old"));
}

// Statuses of several objects are patched in one step, each with its uid as a precondition.
TEST(Transactions, PatchStatuses) {
  TestServer server;
  const auto made = [&](std::string_view name) {
    const std::string text = fmt::format(
        R"({{"apiVersion":"fairlead.dev/v1alpha1","kind":"Mooring","metadata":{{"name":"{}"}},)"
        R"("spec":{{"node":"n1"}}}})",
        name);
    return server.create(kMoorings, wire::parse_json(text)->value);
  };
  const auto patch = [](const Json& object, std::string_view uid, std::string_view interface) {
    return fmt::format(
        R"({{"verb":"patchStatus","apiVersion":"fairlead.dev/v1alpha1","kind":"Mooring",)"
        R"("namespace":"default","name":"{}","patch":{{"metadata":{{"uid":"{}"}},"spec":{{"node":"n2"}},)"
        R"("status":{{"line":"{}"}}}}}})",
        wire::find_string(object, "metadata.name"), uid, interface);
  };
  const Json a = made("a");
  const Json b = made("b");
  const std::string uid_a(wire::find_string(a, "metadata.uid"));
  const std::string uid_b(wire::find_string(b, "metadata.uid"));
  const auto refused = server.ask("admin", "POST", kTransactions,
                                  all(patch(a, uid_a, "fl1"), patch(b, uid_a, "fl2")));
  EXPECT_EQ(refused->status, 409) << refused->text;
  EXPECT_NE(refused->text.find("operations[1]"), std::string::npos) << refused->text;

  const auto done = server.ask("admin", "POST", kTransactions,
                               all(patch(a, uid_a, "fl1"), patch(b, uid_b, "fl2")));
  ASSERT_EQ(done->status, 201) << done->text;
  const Json result = done->json();
  const JsonArray& results = wire::find(result, "results")->get_array();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(wire::find_string(results[0], "status.line"), "fl1");
  EXPECT_EQ(wire::find_string(results[1], "status.line"), "fl2");
  EXPECT_EQ(wire::find_string(results[1], "spec.node"), "n1");  // of the status only

  const auto without = server.ask(
      "admin", "POST", kTransactions,
      all(std::string(R"({"verb":"patchStatus","apiVersion":"fairlead.dev/v1alpha1","kind":)"
                      R"("Mooring","namespace":"default","name":"a"})")));
  EXPECT_EQ(without->status, 400) << without->text;
}

// One refusal is the refusal of all; it names the operation.
TEST(Transactions, AllOrNothing) {
  TestServer server;
  const Json old = server.create(kMaps, wire::parse_json(map_of("old"))->value);
  struct Case {
    std::string operations;
    int status;
    std::string words;
  };
  const Case cases[] = {
      {all(create("a"), create("old")), 409, "operations[1]"},
      {all(create("a"), remove("missing")), 404, "operations[1]"},
      {all(create("a"), remove("old", "another-uid")), 409, "operations[1]"},
      {all(create("a"), create("a")), 400, "same object"},
      {all(create("a"), create("No_Name")), 422, "operations[1]"},
      {all(create("a"), std::string(R"({"verb":"melt"})")), 400, "operations[1]: verb must be"},
      {all(create("a"), std::string(R"({"verb":"create"})")), 400, "object must be given"},
      {all(create("a"), std::string("7")), 400, "must be an object"},
      {all(create("a"), std::string(R"({"verb":"create","object":{"kind":"Pod"}})")), 400,
       "no kind"},
      {R"({"operations":[]})", 400, "at least one"},
      {R"({"operations":{}})", 400, "at least one"},
      {R"([])", 400, ""},
  };
  for (const Case& one : cases) {
    const auto refused = server.ask("admin", "POST", kTransactions, one.operations);
    EXPECT_EQ(refused->status, one.status) << one.operations << refused->text;
    EXPECT_NE(refused->text.find(one.words), std::string::npos) << one.words << refused->text;
    EXPECT_FALSE(server.exists(std::string(kMaps) + "/a")) << one.operations;
    EXPECT_TRUE(server.exists(std::string(kMaps) + "/old")) << one.operations;
  }
}

// Their number and size are bounded before anything is done.
TEST(Transactions, AreBounded) {
  TestServer server;
  std::string many = create("m0");
  for (std::size_t i = 1; i <= kMaxTransactionOperations; ++i)
    many.append(",").append(create("m" + std::to_string(i)));
  EXPECT_EQ(server.ask("admin", "POST", kTransactions, all(many))->status, 400);
  const std::string large(kMaxTransactionBytes, ' ');
  EXPECT_EQ(server.ask("admin", "POST", kTransactions, large + all(create("a")))->status, 413);
  EXPECT_EQ(server.ask("admin", "GET", kTransactions)->status, 405);
}

// Each operation needs the right that its single request would need; one that lacks it ends all.
TEST(Transactions, EachOperationIsAuthorised) {
  TestServer server;
  const std::string parcel =
      R"({"verb":"create","object":{"apiVersion":"fairlead.dev/v1alpha1","kind":"Parcel",)"
      R"("metadata":{"name":"s","namespace":"default"},"spec":{"text":"x","number":7}}})";
  const std::string secret = R"({"verb":"create","object":{"apiVersion":"v1","kind":"Secret",)"
                             R"("metadata":{"name":"s","namespace":"default"}}})";
  EXPECT_EQ(server.ask("", "POST", kTransactions, all(parcel))->status, 401);
  for (const char* user : {"viewer", "nobody", "n1"})
    EXPECT_EQ(server.ask(user, "POST", kTransactions, all(parcel))->status, 403) << user;
  const auto mixed = server.ask("controller", "POST", kTransactions, all(parcel, secret));
  EXPECT_EQ(mixed->status, 403) << mixed->text;
  EXPECT_NE(mixed->text.find("operations[1]"), std::string::npos) << mixed->text;
  EXPECT_EQ(server.ask("controller", "POST", kTransactions, all(parcel))->status, 201);
}

std::string mooring(std::string_view name, std::string_view node) {
  return fmt::format(R"({{"apiVersion":"fairlead.dev/v1alpha1","kind":"Mooring",)"
                     R"("metadata":{{"name":"{}","namespace":"default"}},)"
                     R"("spec":{{"node":"{}"}}}})",
                     name, node);
}

// A node writes the status of its own moorings, and in a transaction too nobody else's.
TEST(Transactions, NodesAreHeldToTheirOwn) {
  TestServer server;
  for (const auto& [name, node] : {std::pair{"mine", "n1"}, std::pair{"theirs", "n2"}})
    server.create(kMoorings, wire::parse_json(mooring(name, node))->value);
  const auto status_of = [&](std::string_view name) {
    Json object =
        server.ask("admin", "GET", std::string(kMoorings) + "/" + std::string(name))->json();
    object.get_object()["status"] = JsonObject{{"line", "1"}};
    return R"({"verb":"updateStatus","object":)" + wire::encode_json(object) + "}";
  };
  const auto own = server.ask("n1", "POST", kTransactions, all(status_of("mine")));
  EXPECT_EQ(own->status, 201) << own->text;
  const auto both =
      server.ask("n1", "POST", kTransactions, all(status_of("mine"), status_of("theirs")));
  EXPECT_EQ(both->status, 403) << both->text;
  // Naming itself in what it sends does not make it the node's: the stored object decides.
  std::string forged = status_of("theirs");
  forged.replace(forged.find("\"node\":\"n2\""), 11, "\"node\":\"n1\"");
  EXPECT_EQ(server.ask("n1", "POST", kTransactions, all(forged))->status, 403);
}

// A dry run goes all the way and changes nothing.
TEST(Transactions, DryRun) {
  TestServer server;
  const auto tried =
      server.ask("admin", "POST", std::string(kTransactions) + "?dryRun=All", all(create("a")));
  EXPECT_EQ(tried->status, 201) << tried->text;
  EXPECT_FALSE(server.exists(std::string(kMaps) + "/a"));
}

}  // namespace
}  // namespace fairlead::apiserver
