#include "client/rest_client.h"

#include <gtest/gtest.h>

namespace fairlead::client {
namespace {

// Paths as Kubernetes has them, with every part escaped.
TEST(ResourceName, Paths) {
  const ResourceName subnets{"fairlead.dev", "v1alpha1", "subnets", true};
  EXPECT_EQ(subnets.path("", ""), "/apis/fairlead.dev/v1alpha1/subnets");
  EXPECT_EQ(subnets.path("a", "b", "status"),
            "/apis/fairlead.dev/v1alpha1/namespaces/a/subnets/b/status");
  const ResourceName nodes{"", "v1", "nodes", false};
  EXPECT_EQ(nodes.path("ignored", "n1"), "/api/v1/nodes/n1");
  EXPECT_EQ(nodes.path("", "../x"), "/api/v1/nodes/..%2Fx");
}

// A Status becomes the code that callers act on.
TEST(ErrorOfStatus, CodesSayWhatToDo) {
  const auto code = [](int status, std::string_view reason = "") {
    return error_of_status(status, JsonObject{{"reason", reason}, {"message", "m"}}).code;
  };
  EXPECT_EQ(code(404), Code::not_found);
  EXPECT_EQ(code(409, "AlreadyExists"), Code::already_exists);
  EXPECT_EQ(code(409, "Conflict"), Code::conflict);
  EXPECT_EQ(code(410), Code::gone);
  EXPECT_EQ(code(422), Code::invalid);
  EXPECT_EQ(code(429), Code::exhausted);
  EXPECT_EQ(code(503), Code::unavailable);
  EXPECT_EQ(code(500), Code::timeout);
  EXPECT_EQ(error_of_status(502, Json(nullptr)).message, "the API answered 502");
}

}  // namespace
}  // namespace fairlead::client
