// What a node may do with attachments, asked of a whole server: its rights follow the attachments
// that it has.
#include <gtest/gtest.h>

#include "features/networks/ipam/test_api.h"

namespace fairlead::ipam {
namespace {

const std::string kGroup = "/apis/fairlead.dev/v1alpha1";
const std::string kAttachments = kGroup + "/namespaces/default/networkattachments";
constexpr std::string_view kMerge = "application/merge-patch+json";

struct Rights : TestApi {
  void attach(std::string_view name, std::string_view node) {
    create(kAttachments, JsonObject{{"metadata", JsonObject{{"name", name}}},
                                    {"spec", JsonObject{{"node", node}, {"subnet", "s"}}}});
    const auto patched = ask("admin", "PATCH", kAttachments + "/" + std::string(name) + "/status",
                             R"({"status":{"ipv4":"10.0.0.5","addressVNI":7}})", kMerge);
    ASSERT_EQ(patched->status, 200) << patched->text;
  }
};

// A watch over a virtual network ends when the node no longer has an attachment in it, and is then
// refused.
TEST(NodeRights, EndWithTheLastAttachment) {
  Rights server;
  server.attach("mine", "n1");
  server.attach("theirs", "n2");
  const std::string network =
      kGroup + "/networkattachments?watch=true&fieldSelector=status.addressVNI%3D7";
  const auto watch = server.begin("n1", "GET", network);
  ASSERT_EQ(watch->status, 200) << watch->text;
  EXPECT_FALSE(watch->ended);
  EXPECT_NE(watch->text.find("theirs"), std::string::npos) << watch->text;
  ASSERT_EQ(server.ask("admin", "DELETE", kAttachments + "/mine")->status, 200);
  server.attach("later", "n2");
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(watch->text.find("later"), std::string::npos) << watch->text;
  const auto refused = server.ask("n1", "GET", network);
  EXPECT_EQ(refused->status, 403);
  EXPECT_NE(refused->text.find("virtual network 7 is not relevant to this node"), std::string::npos)
      << refused->text;
}

// A node sees what shares a network with it and tells the status of its own only, in single writes
// and in transactions; what it tells leaves no managedFields.
TEST(NodeRights, StatusOfItsOwn) {
  Rights server;
  server.attach("mine", "n1");
  server.attach("theirs", "n2");
  const auto tell = [&](const char* node, std::string_view name) {
    return server.ask(node, "PATCH", kAttachments + "/" + std::string(name) + "/status",
                      R"({"status":{"ifcName":"f"}})", kMerge);
  };
  const auto own = tell("n1", "mine");
  EXPECT_EQ(own->status, 200) << own->text;
  EXPECT_EQ(own->text.find("f:ifcName"), std::string::npos) << own->text;
  EXPECT_EQ(server.ask("n1", "GET", kAttachments + "/theirs")->status, 200);
  const auto other = tell("n1", "theirs");
  EXPECT_EQ(other->status, 403);
  EXPECT_NE(other->text.find("the attachment is on another node"), std::string::npos)
      << other->text;
  const auto operation = [](std::string_view name) {
    return R"({"verb":"patchStatus","apiVersion":"fairlead.dev/v1alpha1","kind":)"
           R"("NetworkAttachment","namespace":"default","name":")" +
           std::string(name) + R"(","patch":{"status":{"ifcName":"g"}}})";
  };
  const auto together = [&](const std::string& operations) {
    return server.ask("n1", "POST", kGroup + "/transactions",
                      R"({"operations":[)" + operations + "]}");
  };
  const auto alone = together(operation("mine"));
  EXPECT_EQ(alone->status, 201) << alone->text;
  const auto both = together(operation("mine") + "," + operation("theirs"));
  EXPECT_EQ(both->status, 403) << both->text;
  EXPECT_EQ(server.ask("n1", "DELETE", kAttachments + "/mine")->status, 403);
}

// A thousand statuses of 9 KB pass at once, 32 MiB in all, and do not hold up the node's report.
TEST(NodeRights, AttachmentsHaveTheirOwnPace) {
  Rights server;
  server.create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  server.attach("a", "n1");
  int number = 0;
  const auto tell = [&](std::size_t size) {
    const std::string text = std::string(size, 'x') + std::to_string(number++);
    const Json errors = JsonObject{{"host", JsonArray{Json(text)}}};
    const Json status = JsonObject{{"status", JsonObject{{"errors", errors}}}};
    return server.ask("n1", "PATCH", kAttachments + "/a/status", wire::encode_json(status), kMerge)
        ->status;
  };
  EXPECT_EQ(tell(70'000), 413);
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(tell(9'000), 200) << i;
  int written = 0;
  while (written < 1'000 && tell(60'000) == 200) ++written;
  EXPECT_GT(written, 300);
  EXPECT_LT(written, 600);
  EXPECT_EQ(tell(60'000), 429);
  const auto report =
      server.ask("n1", "POST", kGroup + "/nodereports", R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(report->status, 201) << report->text;
}

}  // namespace
}  // namespace fairlead::ipam
