#include "api/client/rest_client.h"

#include <gtest/gtest.h>

#include "api/client/server_url.h"

namespace fairlead::client {
namespace {

// Paths as Kubernetes has them, with every part escaped.
TEST(ResourceName, Paths) {
  const ResourceName parcels{"fairlead.dev", "v1alpha1", "parcels", true};
  EXPECT_EQ(parcels.path("", ""), "/apis/fairlead.dev/v1alpha1/parcels");
  EXPECT_EQ(parcels.path("a", "b", "status"),
            "/apis/fairlead.dev/v1alpha1/namespaces/a/parcels/b/status");
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

// The server of a kubeconfig, taken apart.
TEST(ServerUrl, Parts) {
  const auto whole = parse_server_url("https://api.example:6443/base/");
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->tls);
  EXPECT_EQ(whole->endpoint.to_string(), "api.example:6443");
  EXPECT_EQ(whole->authority, "api.example:6443");
  EXPECT_EQ(whole->path, "/base");
  EXPECT_EQ(parse_server_url("https://192.0.2.1")->endpoint.port, 443);
  EXPECT_EQ(parse_server_url("http://[2001:db8::1]")->endpoint.port, 80);
  EXPECT_EQ(parse_server_url("https://[2001:db8::1]:7/")->endpoint.port, 7);
  for (const char* bad : {"", "api:6443", "ftp://api", "https://api:0x"})
    EXPECT_FALSE(parse_server_url(bad)) << bad;
}

}  // namespace
}  // namespace fairlead::client
