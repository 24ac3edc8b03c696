// What birdc of BIRD 2.0.12 prints, understood.
#include "features/vip/routes/bird_status.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

// Sessions in their states; other protocols are none.
TEST(BirdStatus, Protocols) {
  const auto sessions = parse_protocols(R"(BIRD 2.0.12 ready.
Name       Proto      Table      State  Since         Info
device1    Device     ---        up     23:08:10.547  
addresses  Direct     ---        up     23:08:10.547  
neighbor_1 BGP        ---        up     23:08:11.344  Established   
neighbor_2 BGP        ---        start  23:08:11.474  Active        Socket: Connection refused
neighbor_3 BGP        ---        down   23:08:11.474
)");
  ASSERT_EQ(sessions.size(), 3U);
  EXPECT_EQ(sessions.at("neighbor_1"), (BirdSession{true, "up Established"}));
  EXPECT_EQ(sessions.at("neighbor_2"),
            (BirdSession{false, "start Active Socket: Connection refused"}));
  EXPECT_EQ(sessions.at("neighbor_3"), (BirdSession{false, "down"}));
}

// BFD by neighbor.
TEST(BirdStatus, Bfd) {
  const auto sessions = parse_bfd_sessions(R"(BIRD 2.0.12 ready.
bfd1:
IP address                Interface  State      Since         Interval  Timeout
fd01::254                 e0         Up         23:08:12.071    0.100    0.300
10.1.0.254                ---        Down       23:08:12.088    1.000    0.000
)");
  EXPECT_EQ(sessions, (std::map<std::string, bool>{{"fd01::254", true}, {"10.1.0.254", false}}));
}

// Whatever comes instead is no session.
TEST(BirdStatus, Nothing) {
  for (const char* text : {"", "\n\n", "BGP", "a BGP b", "Unable to connect to server control"}) {
    EXPECT_TRUE(parse_protocols(text).empty()) << text;
    EXPECT_TRUE(parse_bfd_sessions(text).empty()) << text;
  }
}

TEST(BirdStatus, Reconfigured) {
  EXPECT_TRUE(reconfigured("Reading configuration from /x\nReconfigured\n"));
  EXPECT_TRUE(reconfigured("Reading configuration from /x\nReconfiguration in progress\n"));
  EXPECT_FALSE(reconfigured("Reading configuration from /x\n/x:3:1 syntax error\n"));
}

}  // namespace
}  // namespace fairlead::vip
