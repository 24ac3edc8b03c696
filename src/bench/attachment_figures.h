// What a load of attachments has come to, and how it is told: as lines for people, as JSON, CSV and
// Prometheus' text format. Pure but for the two files.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/agent_board.h"
#include "bench/histogram.h"
#include "wire/json.h"

namespace fairlead::bench {

// When an attachment reached each stage; the epoch stands for "not yet".
struct Life {
  Instant due, created, addressed, ready, tested, remove_due, removed;
  std::uint32_t node = 0;     // index
  std::uint32_t network = 0;  // index
  std::string ip;
  std::optional<std::uint64_t> peer;  // that it was told to ping
  int pingers = 0;                    // that are about to ping it
  int test_status = 0;
  bool broken = false;
};

// The load goes through several, one after the other.
struct PhaseFigures {
  std::string name;  // "warm-up"
  std::uint64_t created = 0, removed = 0;
  Duration took{0};  // until everything it made was ready
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
  std::uint64_t created = 0, removed = 0, addressed = 0, ready = 0, late = 0;
  std::uint64_t create_errors = 0, remove_errors = 0;
  std::string first_failure;
  Instant start{};

  std::uint64_t still_waiting() const { return created - std::min(created, ready); }

  std::string text() const;
  Json json() const;
  // Fail with io, naming the flag.
  Result<> write_csv(const std::string& path, const std::string& run) const;
  Result<> write_prometheus(const std::string& path) const;

 private:
  struct Stage {
    const char* name;   // "createToAddressed"
    const char* words;  // "create to address"
    Histogram histogram;
  };
  struct Tests {
    std::uint64_t full = 0, half = 0, failed = 0;  // half: there was nobody to ping
  };
  std::vector<Stage> stages(Part part) const;
  Tests tests() const;
  std::vector<std::string> errors() const;
};

}  // namespace fairlead::bench
