// Trace: what happened in a world, as a digest of everything and the text of the last part.
//
// Every event enters the digest, so two runs are the same exactly if their digests are. Only the
// tail is kept, as numbers; text is made when somebody asks, because most runs are never looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/moment.h"

namespace fairlead::sim {

// Who: an index given by Trace::name(); 0 is the world itself.
using ActorId = std::uint32_t;

enum class Happening : std::uint8_t {
  turn,       // a machine ran: a = fibers resumed
  deliver,    // bytes of a stream arrived: a = connection, b = bytes
  finish,     // a stream's end arrived
  reset,      // a reset arrived
  stall,      // a segment was held up: cut, loss or dead receiver; a = connection
  dial,       // a connection attempt arrived; a = connection
  refuse,     // … and nobody listened
  establish,  // … and was accepted by the kernel
  datagram,   // arrived: a = bytes
  drop,       // a datagram or frame was lost: a = bytes
  frame,      // an Ethernet frame arrived: a = bytes
  crash,
  restart,
  pause,
  resume,
  cut,
  heal,
  clock,  // a clock was changed: a = rate in ppm, b = wall offset in ns
  disk_write,
  disk_sync,
  disk_name,
  disk_error,
  power_cut,
  work,  // a blocking job ran
  note,  // text from a scenario
};

struct TraceRecord {
  Moment at;
  Happening what = Happening::note;
  ActorId subject = 0;
  ActorId object = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::string text;

  bool operator==(const TraceRecord&) const = default;
};

class Trace {
 public:
  explicit Trace(std::size_t keep = 2'000) : keep_(keep) {}

  ActorId name(std::string actor);
  void add(TraceRecord record, std::uint64_t content = 0);

  std::uint64_t digest() const { return digest_; }
  std::uint64_t count() const { return count_; }
  // Everything from now on is kept, to find where two runs part.
  void keep_all() { keep_ = static_cast<std::size_t>(-1); }
  const std::deque<TraceRecord>& records() const { return records_; }
  std::string to_string(const TraceRecord& record) const;
  std::string tail(std::size_t lines) const;

 private:
  std::size_t keep_;
  std::uint64_t digest_ = 0;
  std::uint64_t count_ = 0;
  std::deque<TraceRecord> records_;
  std::vector<std::string> names_{"world"};
};

std::string_view happening_name(Happening what);

}  // namespace fairlead::sim
