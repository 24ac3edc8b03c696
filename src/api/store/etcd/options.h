// How an EtcdStore reaches its cluster, and what it counts. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

struct EtcdOptions {
  std::vector<runtime::Endpoint> endpoints{};       // members; tried in turn
  std::shared_ptr<const runtime::TlsSource> tls{};  // null: plain HTTP/2
  std::string root = "/fairlead/";                  // everything of ours lies below
  // The newest revision known to have been handed out before; an etcd that is behind it was
  // restored.
  std::int64_t seen = 0;
  Duration call_time =
      5s;  // a call with all its attempts; a write that may be under way waits so long
  Duration attempt_time = 2s;  // a read tries another member after this
  Duration connect_time = 1s;
  Duration lag_time = 50ms;         // a watch behind a known revision for so long asks for a tick …
  Duration stall_time = 1s;         // … and after this, without any event, for another member
  std::size_t log_changes = 4'096;  // recent changes kept for watches that are a little behind
  std::size_t log_bytes = 4 << 20;
};

struct EtcdAddresses {
  std::vector<runtime::Endpoint> endpoints;
  bool tls = false;
};

// "http://10.0.0.1:2379,http://10.0.0.2:2379", all http or all https; the port may be left out.
Result<EtcdAddresses> parse_etcd_addresses(std::string_view text);

// Latencies by powers of two: bucket i counts those below 2^i × 100 µs, the last one the rest.
struct EtcdLatency {
  static constexpr std::size_t kBuckets = 18;
  std::uint64_t count = 0;
  Duration total{0};
  std::array<std::uint64_t, kBuckets> buckets{};

  void observe(Duration took);
};

struct EtcdCounters {
  EtcdLatency reads;
  EtcdLatency writes;
  std::uint64_t groups = 0;        // calls that carried transactions …
  std::uint64_t transactions = 0;  // … and how many they carried
  std::uint64_t retries = 0;       // attempts beyond the first
  std::uint64_t conflicts = 0;     // transactions whose compares did not hold
  std::uint64_t failed_reads = 0;
  std::uint64_t failed_writes = 0;    // surely not made
  std::uint64_t unknown_writes = 0;   // answered with timeout
  std::uint64_t member_switches = 0;  // calls moved to another member
  std::uint64_t watch_connects = 0;   // watch streams opened
  std::uint64_t watch_events = 0;
  std::uint64_t foreign_values = 0;  // values below our root that are not ours
  std::uint64_t ticks = 0;           // writes made only to move the watch on
};

}  // namespace fairlead::store
