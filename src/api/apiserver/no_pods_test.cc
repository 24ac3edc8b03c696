#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

// What `kubectl describe node` asks for is answered: no pods; by those who may look. Nothing else
// is there, and discovery does not name them.
TEST(NoPods, AListOfNone) {
  TestServer server;
  const char* kAll = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1%2Cstatus.phase%21%3DFailed";
  for (const char* path : {kAll, "/api/v1/namespaces/default/pods?limit=500"}) {
    const auto list = server.ask("viewer", "GET", path);
    EXPECT_EQ(list->status, 200) << list->text;
    EXPECT_EQ(list->at("kind"), "PodList");
    EXPECT_TRUE(wire::find(list->json(), "items")->get_array().empty());
  }
  EXPECT_EQ(server.ask("nobody", "GET", kAll)->status, 403);
  EXPECT_EQ(server.ask("admin", "GET", "/api/v1/namespaces/default/pods/a")->status, 404);
  EXPECT_EQ(server.ask("admin", "POST", "/api/v1/namespaces/default/pods", "{}")->status, 404);
  EXPECT_EQ(server.ask("admin", "GET", "/api/v1")->text.find("\"pods\""), std::string::npos);
}

}  // namespace
}  // namespace fairlead::apiserver
