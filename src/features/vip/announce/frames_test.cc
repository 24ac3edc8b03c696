#include "features/vip/announce/frames.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

const Mac kMac = *Mac::parse("02:00:00:00:00:0a");
const Ip kFour = *Ip::parse("10.0.0.75"), kSix = *Ip::parse("fd00::75");

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(Frames, GratuitousArpIsARequestAndAReply) {
  const auto frames = announcements(kFour, kMac);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(hex(frames[0]),
            "ffffffffffff"
            "02000000000a"
            "0806"
            "0001"
            "0800"
            "0604"
            "0001"
            "02000000000a"
            "0a00004b"
            "000000000000"
            "0a00004b");
  EXPECT_EQ(hex(frames[1]),
            "ffffffffffff"
            "02000000000a"
            "0806"
            "0001"
            "0800"
            "0604"
            "0002"
            "02000000000a"
            "0a00004b"
            "02000000000a"
            "0a00004b");
}

TEST(Frames, AnAdvertisementGoesToAllNodesWithOverride) {
  const auto frames = announcements(kSix, kMac);
  ASSERT_EQ(frames.size(), 1u);
  const std::string text = hex(frames[0]);
  EXPECT_EQ(text.substr(0, 28),
            "333300000001"
            "02000000000a"
            "86dd");
  EXPECT_EQ(text.substr(28, 16),
            "60000000"
            "0020"
            "3a"
            "ff");
  EXPECT_EQ(text.substr(44, 64),
            "fd000000000000000000000000000075"
            "ff020000000000000000000000000001");
  EXPECT_EQ(text.substr(108, 4), "8800");
  EXPECT_EQ(text.substr(116),
            "20000000"
            "fd000000000000000000000000000075"
            "0201"
            "02000000000a");
}

TEST(Frames, WhatIsAnnouncedIsRead) {
  for (const Ip& ip : {kFour, kSix})
    for (const std::string& frame : announcements(ip, kMac)) {
      EXPECT_EQ(claim_in(frame), (AddressClaim{ip, kMac}));
      std::string tagged = frame;
      tagged.insert(12, std::string("\x81\x00\x00\x05", 4));
      EXPECT_EQ(claim_in(tagged), (AddressClaim{ip, kMac}));
      for (std::size_t size = 0; size < frame.size(); ++size)
        EXPECT_FALSE(claim_in(frame.substr(0, size))) << size;
    }
}

TEST(Frames, AProbeClaimsNothing) {
  for (const Ip& ip : {kFour, kSix}) EXPECT_FALSE(claim_in(probe(ip, kMac)));
  EXPECT_EQ(hex(probe(kSix, kMac)).substr(0, 12), "3333ff000075");
}

// As a host asks that has the address: broadcast, or to the neighbour's group, with its own MAC.
TEST(Frames, QuestionsOfAHost) {
  const Ip four = *Ip::parse("10.0.0.9"), six = *Ip::parse("fd00::9");
  const std::string arp = hex(question(kFour, kMac, four));
  EXPECT_EQ(arp.substr(0, 12), "ffffffffffff");
  EXPECT_EQ(arp.substr(28),
            "00010800060400010200000000"
            "0a"
            "0a00004b"
            "000000000000"
            "0a000009");
  EXPECT_EQ(claim_in(question(kFour, kMac, four)), (AddressClaim{kFour, kMac}));
  const std::string nd = hex(question(kSix, kMac, six));
  EXPECT_EQ(nd.substr(0, 12), "3333ff000009");
  EXPECT_EQ(nd.substr(108, 4), "8700");
  EXPECT_EQ(nd.substr(124),
            "fd000000000000000000000000000009"
            "0101"
            "02000000000a");
}

TEST(Frames, AWrongChecksumClaimsNothing) {
  std::string frame = announcements(kSix, kMac).front();
  frame[60] = static_cast<char>(frame[60] ^ 1);
  EXPECT_FALSE(claim_in(frame));
}

}  // namespace
}  // namespace fairlead::vip
