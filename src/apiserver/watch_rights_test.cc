// What a node may watch follows what runs on it.
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kAttachments =
    "/apis/fairlead.dev/v1alpha1/namespaces/default/networkattachments";

Json attachment(std::string_view name, std::string_view node) {
  return JsonObject{{"metadata", JsonObject{{"name", name}}},
                    {"spec", JsonObject{{"node", node}, {"subnet", "s"}}}};
}

void set_network(TestServer& server, std::string_view name) {
  const std::string path = std::string(kAttachments) + "/" + std::string(name);
  const auto patched = server.ask("admin", "PATCH", path + "/status",
                                  R"({"status":{"ipv4":"10.0.0.5","addressVNI":7}})",
                                  "application/merge-patch+json");
  ASSERT_EQ(patched->status, 200) << patched->text;
}

// A watch over a virtual network ends when the node no longer has an attachment in it, and is then
// refused.
TEST(WatchRights, EndWithTheLastAttachment) {
  TestServer server;
  server.create(kAttachments, attachment("mine", "n1"));
  server.create(kAttachments, attachment("theirs", "n2"));
  set_network(server, "mine");
  set_network(server, "theirs");
  const std::string network =
      "/apis/fairlead.dev/v1alpha1/"
      "networkattachments?watch=true&fieldSelector=status.addressVNI%3D7";
  const auto watch = server.begin("n1", "GET", network);
  ASSERT_EQ(watch->status, 200) << watch->text;
  EXPECT_FALSE(watch->ended);
  EXPECT_NE(watch->text.find("theirs"), std::string::npos) << watch->text;

  ASSERT_EQ(server.ask("admin", "DELETE", std::string(kAttachments) + "/mine")->status, 200);
  server.create(kAttachments, attachment("later", "n2"));
  set_network(server, "later");
  server.runtime.advance(60s);
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(watch->text.find("later"), std::string::npos) << watch->text;
  EXPECT_EQ(server.ask("n1", "GET", network)->status, 403);
}

// The old form of a watch of one object, and a selection of one name, show that object and no
// other.
TEST(WatchRights, OneNameIsOneObject) {
  TestServer server;
  server.create(kAttachments, attachment("mine", "n1"));
  server.create(kAttachments, attachment("theirs", "n2"));
  const std::string group = "/apis/fairlead.dev/v1alpha1";
  const std::string selected =
      group + "/namespaces/default/networkattachments?fieldSelector=metadata.name%3Dmine";
  const auto old_watch =
      server.begin("n1", "GET", group + "/watch/namespaces/default/networkattachments/mine");
  const auto watch = server.begin("n1", "GET", selected + "&watch=true");
  const auto list = server.ask("n1", "GET", selected);
  for (const auto* shown : {&old_watch, &watch, &list}) {
    EXPECT_EQ((*shown)->status, 200) << (*shown)->text;
    EXPECT_NE((*shown)->text.find("\"mine\""), std::string::npos) << (*shown)->text;
    EXPECT_EQ((*shown)->text.find("\"theirs\""), std::string::npos) << (*shown)->text;
  }
  // A selector on top of a name in the path takes away; it never leads to another object.
  const auto other = server.begin("n1", "GET",
                                  group +
                                      "/watch/namespaces/default/networkattachments/mine"
                                      "?fieldSelector=metadata.name%3Dtheirs");
  EXPECT_EQ(other->text, "") << other->text;
  EXPECT_EQ(
      server.ask("n1", "GET", group + "/networkattachments?fieldSelector=metadata.name%3Dtheirs")
          ->status,
      403);
}

}  // namespace
}  // namespace fairlead::apiserver
