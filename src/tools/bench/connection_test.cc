#include "tools/bench/connection.h"

#include <gtest/gtest.h>

#include "foundation/http/test_world.h"

namespace fairlead::bench {
namespace {

Target target_of(const http::ServerWorld& world) {
  Target target;
  target.endpoint = world.at;
  target.tls = false;
  target.authority = "server";
  return target;
}

// A load prepares, measures for minutes, and cleans up over the connection that it prepared with:
// the server has closed it meanwhile.
TEST(Connection, OutlivesALongRest) {
  http::Limits limits;
  limits.idle_time = 180s;
  http::ServerWorld world(limits);
  const Target target = target_of(world);
  const std::unique_ptr<Connection> connection = make_http1_connection(world.runtime, target);
  for (const Duration rest : {1s, 100s, 300s}) {
    const Call call{.method = "POST", .target = "/echo", .body = "x", .want_body = true};
    const auto answer = world.runtime.run(connection->exchange(call));
    ASSERT_TRUE(answer && *answer) << (*answer).error().to_string();
    EXPECT_EQ((*answer)->body, "POST x");
    world.runtime.run_for(rest);
  }
  const Call call{.method = "DELETE", .target = "/a", .body = {}};
  const auto answer = world.runtime.run(connection->exchange(call));
  ASSERT_TRUE(answer && *answer) << (*answer).error().to_string();
  EXPECT_EQ(world.runtime.connects, 3U);  // the second request came soon enough after the first
}

// The server closes at the moment in which the next request is on its way: reading is tried again,
// and what may have been carried out is not.
TEST(Connection, ReadsAgainWhenTheServerClosedBeforeAnyAnswer) {
  http::ServerWorld world;
  const Target target = target_of(world);
  const std::unique_ptr<Connection> connection = make_http1_connection(world.runtime, target);
  const Call read{.method = "GET", .target = "/a", .body = {}};
  const Call write{.method = "DELETE", .target = "/a", .body = {}};
  for (const auto& [call, answered] : {std::pair(read, true), std::pair(write, false)}) {
    ASSERT_TRUE(*world.runtime.run(connection->exchange(read)));
    world.runtime.last_near->end_incoming();
    const auto answer = world.runtime.run(connection->exchange(call));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->has_value(), answered) << call.method;
  }
}

}  // namespace
}  // namespace fairlead::bench
