// What a load of attachments has come to, and how it is told: as lines for people, as JSON and CSV.
// Pure but for the file. A load whose errors() are not empty has failed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/wire/json.h"
#include "tools/bench/agent_board.h"
#include "tools/bench/histogram.h"

namespace fairlead::bench {

// When an attachment reached each stage; the epoch stands for "not yet".
struct Life {
  Instant due, created, addressed, ready, tested, remove_due, removed, gone;
  std::uint32_t node = 0;     // index
  std::uint32_t network = 0;  // index
  std::string ip;
  std::optional<std::uint64_t> peer;  // that it was told to ping
  int pingers = 0;                    // that are about to ping it
  int test_status = 0;
  bool wants_test = false;
  bool leaving = false;  // its deletion is due
  bool broken = false;
};

// How many of one kind of failure there were, and what the first of them was.
struct Failures {
  std::uint64_t count = 0;
  std::string first;

  void add(std::string what) {
    if (count++ == 0) first = std::move(what);
  }
};

// The load goes through several, one after the other.
struct PhaseFigures {
  std::string name;  // "warm-up"
  std::uint64_t created = 0, removed = 0;
  Duration took{0};  // until everything it made was ready
  Instant begin{};
  // With agents: what they carry together and should, at the end, and how much later they did.
  std::uint64_t stations = 0, stations_expected = 0;
  Duration in_step_after{0};
  // With --server-pid.
  Duration server_cpu{0};
  Duration server_time{0};
  std::uint64_t server_resident = 0;
};

class AttachmentFigures {
 public:
  explicit AttachmentFigures(std::size_t attachments) : lives(attachments) {}

  std::vector<Life> lives;
  std::vector<PhaseFigures> phases;
  std::array<Histogram, kParts> seen;  // by remote agents
  std::size_t networks = 0, agents = 0;
  std::uint64_t warm_up = 0;  // attachments of the first part
  std::uint64_t created = 0, removed = 0, addressed = 0, ready = 0, gone = 0, late = 0;
  // Deletes that had to wait until what they delete was there, and for how long; not part of their
  // latency.
  std::uint64_t waits = 0;
  Duration waited{0};
  Failures failed_creates, failed_removes;  // refused, or not answered
  Failures failed_tests, broken, duplicates, vanished;
  std::string watch_failure;  // from then on nothing was seen
  std::string stopped;        // why the run ended before its end
  Instant start{};

  std::uint64_t still_waiting() const { return created - std::min(created, ready); }
  Part part_of(std::uint64_t number) const {
    return number < warm_up ? Part::warm_up : Part::cruise;
  }
  // Anything that --stop-on-failure stops for.
  bool failed() const;
  // What went wrong, a line for each kind. Empty: everything asked for was done and seen.
  std::vector<std::string> errors() const;

  struct Stage {
    const char* name;   // "createToAddressed"
    const char* words;  // "create to address"
    Histogram histogram;
  };
  // Of the attachments made in that part, those stages that anything has reached.
  std::vector<Stage> stages(Part part) const;

  std::string text() const;
  Json json() const;
  std::string csv(const std::string& run) const;

 private:
  struct Tests {
    std::uint64_t full = 0, half = 0, failed = 0;  // half: there was nobody to ping
  };
  Tests tests() const;
};

inline constexpr std::pair<Part, const char*> kPartNames[] = {{Part::warm_up, "warmUp"},
                                                              {Part::cruise, "cruise"}};

// Fails with io, naming the flag.
Result<> write_file(const std::string& flag, const std::string& path, const std::string& text);

}  // namespace fairlead::bench
