#include "foundation/base/ip.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Text comes out canonical, whatever form went in.
TEST(Ip, ParsesAndPrints) {
  const std::pair<const char*, const char*> cases[] = {
      {"0.0.0.0", "0.0.0.0"},
      {"10.0.0.255", "10.0.0.255"},
      {"255.255.255.255", "255.255.255.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
      {"fe80::a:b", "fe80::a:b"},
      {"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
  };
  for (const auto& [in, out] : cases) {
    const Result<Ip> ip = Ip::parse(in);
    ASSERT_TRUE(ip.has_value()) << in;
    EXPECT_EQ(ip->to_string(), out);
  }
}

// What resolvers and C libraries forgive is refused here.
TEST(Ip, RefusesLooseForms) {
  for (const char* text :
       {"",          "1",         "1.2.3",    "1.2.3.4.5", "01.2.3.4",      "1.2.3.256",
        "1.2.3.-4",  "1.2.3.+4",  "1.2.3.4 ", " 1.2.3.4",  "1..2.3",        "1.2.3.",
        "0x1.2.3.4", "1.2.3.4/8", ":",        ":::",       "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
        "::g",       "12345::",   "::1%eth0", "[::1]",     "::01.2.3.4"})
    EXPECT_FALSE(Ip::parse(text).has_value()) << text;
  EXPECT_FALSE(Ip::parse(std::string_view("::1\0", 4)).has_value());
  EXPECT_EQ(Ip::parse("1.2.3.256").error().message, "bad IP address \"1.2.3.256\"");
}

// Families do not compare equal; bits go in and out in host order.
TEST(Ip, BitsAndFamilies) {
  EXPECT_EQ(Ip::v4(0x0a000005).to_string(), "10.0.0.5");
  EXPECT_EQ(Ip::parse("10.0.0.5")->v4_bits(), 0x0a000005U);
  EXPECT_EQ(Ip().to_string(), "0.0.0.0");
  EXPECT_NE(*Ip::parse("0.0.0.0"), *Ip::parse("::"));
  EXPECT_LT(*Ip::parse("10.0.0.9"), *Ip::parse("10.0.0.10"));
  EXPECT_EQ(Ip::parse("::1")->width(), 128);
}

// Addresses that a host can own, and those it cannot.
TEST(Ip, UnicastAndLoopback) {
  for (const char* text :
       {"1.2.3.4", "127.0.0.1", "223.255.255.255", "::1", "fe80::1", "2001:db8::"})
    EXPECT_TRUE(Ip::parse(text)->is_unicast()) << text;
  for (const char* text : {"0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "ff02::1"})
    EXPECT_FALSE(Ip::parse(text)->is_unicast()) << text;
  EXPECT_TRUE(Ip::parse("127.9.9.9")->is_loopback());
  EXPECT_TRUE(Ip::parse("::1")->is_loopback());
  EXPECT_FALSE(Ip::parse("::2")->is_loopback());
  EXPECT_FALSE(Ip::parse("128.0.0.1")->is_loopback());
}

// A block is its base, its last address and everything between, and nothing of the other family.
TEST(Cidr, Bounds) {
  const Cidr block = *Cidr::parse("10.1.2.0/23");
  EXPECT_EQ(block.to_string(), "10.1.2.0/23");
  EXPECT_EQ(block.last().to_string(), "10.1.3.255");
  EXPECT_TRUE(block.contains(*Ip::parse("10.1.2.0")));
  EXPECT_TRUE(block.contains(*Ip::parse("10.1.3.255")));
  EXPECT_FALSE(block.contains(*Ip::parse("10.1.1.255")));
  EXPECT_FALSE(block.contains(*Ip::parse("10.1.4.0")));
  EXPECT_FALSE(block.contains(*Ip::parse("::a01:200")));
  EXPECT_EQ(Cidr::parse("2001:db8::/61")->last().to_string(), "2001:db8:0:7:ffff:ffff:ffff:ffff");
  EXPECT_TRUE(Cidr::parse("0.0.0.0/0")->contains(*Ip::parse("255.255.255.255")));
  EXPECT_EQ(Cidr::parse("10.0.0.1/32")->last().to_string(), "10.0.0.1");
  EXPECT_EQ(Cidr(*Ip::parse("10.1.2.77"), 24).to_string(), "10.1.2.0/24");
}

// Overlap is symmetric and means that one block contains the other.
TEST(Cidr, Overlaps) {
  const auto overlap = [](const char* a, const char* b) {
    const bool forward = Cidr::parse(a)->overlaps(*Cidr::parse(b));
    EXPECT_EQ(forward, Cidr::parse(b)->overlaps(*Cidr::parse(a)));
    return forward;
  };
  EXPECT_TRUE(overlap("10.0.0.0/8", "10.1.0.0/16"));
  EXPECT_TRUE(overlap("10.0.0.0/8", "10.0.0.0/8"));
  EXPECT_FALSE(overlap("10.0.0.0/9", "10.128.0.0/9"));
  EXPECT_FALSE(overlap("0.0.0.0/0", "::/0"));
}

// Host bits, loose prefixes and missing parts are errors that name what was given.
TEST(Cidr, Refuses) {
  for (const char* text : {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1",
                           "10.0.0.0/+8", "::/129", "/8", "10.0.0/8", "10.0.0.0/8/8"})
    EXPECT_FALSE(Cidr::parse(text).has_value()) << text;
  EXPECT_EQ(Cidr::parse("10.0.0.1/24").error().message,
            "host bits set in address block \"10.0.0.1/24\", expected 10.0.0.0/24");
}

// Six pairs of hexadecimal digits and colons, nothing else.
TEST(Mac, ParsesAndPrints) {
  EXPECT_EQ(Mac::parse("02:00:0A:00:00:05")->to_string(), "02:00:0a:00:00:05");
  for (const char* text : {"", "02:00:0a:00:00", "02-00-0a-00-00-05", "02:00:0a:00:00:5",
                           "02:00:0a:00:00:05:", "02:00:0a:00:00:0g", "+2:00:0a:00:00:05"})
    EXPECT_FALSE(Mac::parse(text).has_value()) << text;
}

}  // namespace
}  // namespace fairlead
