#include "features/networks/node/attachment.h"

#include <gtest/gtest.h>

namespace fairlead::networks {
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

const Ip kHere = *Ip::parse("192.0.2.1");

// A node that says it is where no host can be is believed to be nowhere: nothing is sent there.
TEST(Attachment, AnImpossibleHostIsNone) {
  const Result<Attachment> good = parse_attachment(attachment("192.0.2.2"), "n1", kHere);
  ASSERT_TRUE(good && good->station());
  EXPECT_EQ(good->station()->host, *Ip::parse("192.0.2.2"));
  for (const char* bad : {"224.0.0.1", "255.255.255.255", "127.0.0.1", "0.0.0.0", "ff02::1", "::1",
                          "fe80::1", "nowhere", ""}) {
    const Result<Attachment> parsed = parse_attachment(attachment(bad), "n1", kHere);
    ASSERT_TRUE(parsed) << bad;
    EXPECT_FALSE(parsed->station()) << bad;
  }
}

// A host of the other address family can be reached by nobody here, which is not the same as none.
TEST(Attachment, AHostOfTheOtherFamilyIsOutOfReach) {
  const Ip ipv6 = *Ip::parse("2001:db8::1");
  for (const auto& [here, host, reached] :
       {std::tuple(kHere, "192.0.2.2", true), std::tuple(kHere, "2001:db8::2", false),
        std::tuple(ipv6, "2001:db8::2", true), std::tuple(ipv6, "192.0.2.2", false)}) {
    const Result<Attachment> parsed = parse_attachment(attachment(host), "n1", here);
    ASSERT_TRUE(parsed) << host;
    EXPECT_EQ(parsed->station().has_value(), reached) << host;
    EXPECT_EQ(parsed->out_of_reach, !reached) << host;
    EXPECT_EQ(parsed->host, *Ip::parse(host));
  }
  EXPECT_FALSE(parse_attachment(attachment(""), "n1", kHere)->out_of_reach);
  // Where this node's own are is known anyway.
  EXPECT_TRUE(parse_attachment(attachment("2001:db8::2"), "n2", kHere)->station());
}

}  // namespace
}  // namespace fairlead::networks
