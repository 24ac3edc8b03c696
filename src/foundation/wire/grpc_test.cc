#include "foundation/wire/grpc.h"

#include <gtest/gtest.h>

namespace fairlead::wire {
namespace {

// Messages come out whole however the body was cut into pieces.
TEST(Grpc, MessagesSurviveAnyCut) {
  const std::string body = frame_grpc_message("first") + frame_grpc_message("") +
                           frame_grpc_message(std::string(1000, 'z'));
  for (std::size_t step : {1, 2, 5, 7, 400, 5000}) {
    GrpcMessageReader reader(1 << 20);
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < body.size(); at += step) {
      reader.append(std::string_view(body).substr(at, step));
      for (;;) {
        auto message = reader.next();
        ASSERT_TRUE(message);
        if (!*message) break;
        messages.emplace_back(**message);
      }
    }
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[0], "first");
    EXPECT_EQ(messages[1], "");
    EXPECT_EQ(messages[2], std::string(1000, 'z'));
    EXPECT_TRUE(reader.at_boundary());
  }
}

// A length above the limit is refused from the prefix alone, before any memory is spent on it.
TEST(Grpc, RefusesLongAndCompressedMessages) {
  GrpcMessageReader reader(100);
  reader.append(std::string_view("\0\0\0\0\x65", 5));
  EXPECT_EQ(reader.next().error().code, Code::exhausted);
  EXPECT_EQ(reader.next().error().code, Code::exhausted);

  GrpcMessageReader compressed(100);
  compressed.append(std::string_view("\1\0\0\0\1x", 6));
  EXPECT_EQ(compressed.next().error().code, Code::unsupported);
}

// A body that ends inside a message is told apart from one that ends between two.
TEST(Grpc, KnowsAPartialMessage) {
  GrpcMessageReader reader(100);
  reader.append(std::string_view("\0\0\0\0\3ab", 7));
  EXPECT_FALSE(*reader.next());
  EXPECT_FALSE(reader.at_boundary());
}

// The status of a call is read strictly; nonsense is "unknown", never success.
TEST(Grpc, Status) {
  EXPECT_EQ(parse_grpc_status("0", ""), (GrpcStatus{GrpcCode::ok, ""}));
  EXPECT_EQ(parse_grpc_status("11", "etcdserver%3A%20gone%"),
            (GrpcStatus{GrpcCode::out_of_range, "etcdserver: gone%"}));
  for (const char* nonsense : {"", "17", "-1", "0x", " 0", "99999999999"})
    EXPECT_EQ(parse_grpc_status(nonsense, "").code, GrpcCode::unknown) << nonsense;
  EXPECT_EQ(grpc_status_of_http(503).code, GrpcCode::unavailable);
  EXPECT_EQ(grpc_status_of_http(200).code, GrpcCode::unknown);
}

// Any message text survives the header.
TEST(Grpc, MessageTextSurvives) {
  std::string every;
  for (int c = 0; c < 256; ++c) every.push_back(static_cast<char>(c));
  EXPECT_EQ(parse_grpc_status("2", encode_grpc_message(every)).message, every);
}

// Timeouts keep to the eight digits that the protocol allows.
TEST(Grpc, Timeout) {
  EXPECT_EQ(encode_grpc_timeout(2500), "2500m");
  EXPECT_EQ(encode_grpc_timeout(0), "1m");
  EXPECT_EQ(encode_grpc_timeout(1'000'000'000'000), "99999999m");
}

}  // namespace
}  // namespace fairlead::wire
