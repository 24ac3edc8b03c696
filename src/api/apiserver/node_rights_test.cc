// The rights of nodes follow from what a kind says about itself: another kind, other rights, and
// nothing else to change.
#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

const std::string kMoorings = "/apis/fairlead.dev/v1alpha1/namespaces/default/moorings";

// Moorings that nodes make and remove themselves, that are shared with nobody, and two kilobytes
// at most.
const resource::Catalog& private_moorings() {
  static const resource::Catalog catalog = [] {
    std::vector<resource::Kind> kinds = resource::core_kinds();
    resource::Kind kind = resource::mooring_kind();
    kind.node.shared_field.clear();
    kind.node.rights = {{.own = resource::kRead | resource::kWrite}};
    kind.node.most_bytes = 2'000;
    kinds.push_back(std::move(kind));
    return resource::Catalog(std::move(kinds));
  }();
  return catalog;
}

std::string mooring(std::string_view name, std::string_view node, std::string_view label = "x") {
  return wire::encode_json(JsonObject{
      {"metadata", JsonObject{{"name", name},
                              {"labels", JsonObject{{"l", label}}},
                              {"annotations", JsonObject{{"text", std::string(label)}}}}},
      {"spec", JsonObject{{"node", node}}}});
}

// A node makes, sees, changes and removes what is on it, and nothing that is elsewhere.
TEST(NodeRights, FollowTheKind) {
  TestServer server(private_moorings());
  const auto status = [&](const char* node, const char* method, const std::string& target,
                          std::string body = {}, std::string_view type = "application/json") {
    return server.ask(node, method, target, std::move(body), type)->status;
  };
  EXPECT_EQ(status("n1", "POST", kMoorings, mooring("mine", "n1")), 201);
  const auto elsewhere = server.ask("n1", "POST", kMoorings, mooring("theirs", "n2"));
  EXPECT_EQ(elsewhere->status, 403);
  EXPECT_NE(elsewhere->text.find("the mooring is on another node"), std::string::npos)
      << elsewhere->text;
  EXPECT_EQ(status("n2", "POST", kMoorings, mooring("theirs", "n2")), 201);

  EXPECT_EQ(status("n1", "GET", kMoorings + "/mine"), 200);
  EXPECT_EQ(status("n1", "GET", kMoorings + "/theirs"), 403);
  EXPECT_EQ(status("n1", "GET", kMoorings + "/missing"), 404);
  EXPECT_EQ(status("n1", "GET", kMoorings), 403);
  const auto own = server.ask("n1", "GET", kMoorings + "?fieldSelector=spec.node%3Dn1");
  EXPECT_EQ(own->status, 200) << own->text;
  EXPECT_NE(own->text.find("\"mine\""), std::string::npos) << own->text;
  EXPECT_EQ(own->text.find("\"theirs\""), std::string::npos) << own->text;
  // There is nothing to share: no selection but its own.
  EXPECT_EQ(status("n1", "GET", kMoorings + "?fieldSelector=status.channel%3D7"), 403);

  const std::string_view merge = "application/merge-patch+json";
  const std::string relabel = R"({"metadata":{"labels":{"l":"y"}}})";
  EXPECT_EQ(status("n1", "PATCH", kMoorings + "/mine", relabel, merge), 200);
  EXPECT_EQ(status("n1", "PATCH", kMoorings + "/theirs", relabel, merge), 403);
  EXPECT_EQ(status("n1", "PATCH", kMoorings + "/mine/status", "{}", merge), 403);
  const std::string hold = R"({"metadata":{"finalizers":["mine/x"]}})";
  EXPECT_EQ(status("n1", "PATCH", kMoorings + "/mine", hold, merge), 403);
  EXPECT_EQ(status("n1", "POST", kMoorings, mooring("large", "n1", std::string(60, 'y'))), 201);
  const std::string text = R"({"metadata":{"annotations":{"text":")" + std::string(3'000, 'y');
  EXPECT_EQ(status("n1", "PATCH", kMoorings + "/large", text + R"("}}})", merge), 413);

  EXPECT_EQ(status("n1", "DELETE", kMoorings + "/theirs"), 403);
  EXPECT_EQ(status("n1", "DELETE", kMoorings + "/mine"), 200);
  EXPECT_FALSE(server.exists(kMoorings + "/mine"));
  EXPECT_TRUE(server.exists(kMoorings + "/theirs"));
}

// A kind that says nothing about nodes is closed to them.
TEST(NodeRights, SilenceIsNo) {
  std::vector<resource::Kind> kinds = resource::core_kinds();
  resource::Kind kind = resource::mooring_kind();
  kind.node = {};
  kinds.push_back(std::move(kind));
  const resource::Catalog catalog(std::move(kinds));
  TestServer server(catalog);
  server.create(kMoorings, wire::parse_json(mooring("mine", "n1"))->value);
  for (const std::string& target :
       {kMoorings, kMoorings + "/mine", kMoorings + "?fieldSelector=spec.node%3Dn1"})
    EXPECT_EQ(server.ask("n1", "GET", target)->status, 403) << target;
  EXPECT_EQ(server.ask("n1", "POST", kMoorings, mooring("other", "n1"))->status, 403);
  EXPECT_EQ(server.ask("n1", "DELETE", kMoorings + "/mine")->status, 403);
}

}  // namespace
}  // namespace fairlead::apiserver
