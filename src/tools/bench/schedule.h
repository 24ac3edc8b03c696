// When requests are due, and which object each is for. Pure: the load asks, time is a parameter.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/runtime/time.h"
#include "tools/bench/settings.h"

namespace fairlead::bench {

// Evenly spaced due times for an open loop: request n is due n / rate after the start, however late
// the answers are, and its latency counts from there.
class Pace {
 public:
  Pace(Instant start, double rate) : start_(start), rate_(rate) {}
  bool open_loop() const { return rate_ > 0; }
  // REQUIRES: open_loop().
  Instant next() {
    const auto offset = std::chrono::duration<double>(static_cast<double>(issued_++) / rate_);
    return start_ + std::chrono::duration_cast<Duration>(offset);
  }

 private:
  Instant start_;
  double rate_;
  std::uint64_t issued_ = 0;
};

struct Operation {
  Verb verb = Verb::get;
  std::uint64_t object = 0;  // not for lists
};

// The sequence of operations of one load. Objects 0 … settings.objects - 1 exist at its start;
// creates number on from there.
class Agenda {
 public:
  explicit Agenda(const ApiSettings& settings);

  // What connection `worker` does next; nothing once the count is reached or nothing is left to
  // delete. Patches and updates of one worker never touch another's objects.
  std::optional<Operation> next(std::size_t worker);

  // One past the largest object number that a create was issued for.
  std::uint64_t end() const { return created_; }

 private:
  std::optional<Operation> mixed(std::size_t worker);
  std::uint64_t own_object(std::size_t worker);

  Verb verb_;
  std::uint64_t objects_;
  std::size_t connections_;
  std::uint64_t count_;
  std::uint64_t issued_ = 0;
  std::uint64_t created_;
  std::uint64_t deleted_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace fairlead::bench
