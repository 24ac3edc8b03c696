#include "agent/attachment.h"

#include <gtest/gtest.h>

namespace fairlead::agent {
namespace {

Json attachment(std::string_view host) {
  return JsonObject{
      {"metadata",
       JsonObject{{"name", "a"}, {"namespace", "default"}, {"uid", "u"}, {"resourceVersion", "7"}}},
      {"spec", JsonObject{{"node", "n2"}, {"subnet", "s"}}},
      {"status", JsonObject{{"addressVNI", 5},
                            {"ipv4", "10.0.0.1"},
                            {"macAddress", "02:00:0a:00:00:01"},
                            {"hostIP", host}}}};
}

// A node that says it is where no host can be is believed to be nowhere: nothing is sent there.
TEST(Attachment, AnImpossibleHostIsNone) {
  const Result<Attachment> good = parse_attachment(attachment("192.0.2.2"), "n1");
  ASSERT_TRUE(good && good->station());
  EXPECT_EQ(good->station()->host, *Ip::parse("192.0.2.2"));
  for (const char* bad : {"224.0.0.1", "255.255.255.255", "127.0.0.1", "0.0.0.0", "ff02::1", "::1",
                          "fe80::1", "nowhere", ""}) {
    const Result<Attachment> parsed = parse_attachment(attachment(bad), "n1");
    ASSERT_TRUE(parsed) << bad;
    EXPECT_FALSE(parsed->station()) << bad;
  }
}

}  // namespace
}  // namespace fairlead::agent
