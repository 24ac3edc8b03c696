#include "api/store/etcd/options.h"

#include <gtest/gtest.h>

namespace fairlead::store {
namespace {

// What users write after --store etcd: one address or several, with or without port.
TEST(EtcdAddresses, AreParsed) {
  const auto plain = parse_etcd_addresses("http://127.0.0.1:2379,http://[::1]:23790/");
  ASSERT_TRUE(plain) << plain.error().to_string();
  EXPECT_FALSE(plain->tls);
  ASSERT_EQ(plain->endpoints.size(), 2U);
  EXPECT_EQ(plain->endpoints[0].port, 2379);
  EXPECT_EQ(plain->endpoints[1].port, 23790);

  const auto secure = parse_etcd_addresses("https://etcd.example");
  ASSERT_TRUE(secure) << secure.error().to_string();
  EXPECT_TRUE(secure->tls);
  EXPECT_EQ(secure->endpoints.at(0).host, "etcd.example");
  EXPECT_EQ(secure->endpoints.at(0).port, 2379);
}

// Everything else is refused with the text that was wrong.
TEST(EtcdAddresses, RefusesTheRest) {
  for (const char* text : {"", "127.0.0.1:2379", "http://a:1,https://b:1", "http://a:99999",
                           "http://", "ftp://a", "http://a:1,,http://b:1"}) {
    const auto parsed = parse_etcd_addresses(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid) << text;
  }
}

// Every latency falls into exactly one bucket, the slowest into the last.
TEST(EtcdLatency, Buckets) {
  EtcdLatency latency;
  latency.observe(50us);
  latency.observe(100us);
  latency.observe(1h);
  EXPECT_EQ(latency.count, 3U);
  EXPECT_EQ(latency.buckets[0], 1U);
  EXPECT_EQ(latency.buckets[1], 1U);
  EXPECT_EQ(latency.buckets[EtcdLatency::kBuckets - 1], 1U);
}

}  // namespace
}  // namespace fairlead::store
