// What the watch of a load's attachments tells: which stage each has reached, whether two have one
// address, who can be pinged. Fills AttachmentFigures. Pure but for that.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/wire/json.h"
#include "tools/bench/address_ledger.h"
#include "tools/bench/attachment_figures.h"
#include "tools/bench/driver_metrics.h"

namespace fairlead::bench {

class AttachmentEvents {
 public:
  // REQUIRES: figures and metrics outlive it. Attachments are called "RUN-NUMBER".
  AttachmentEvents(std::string run, std::size_t networks, AttachmentFigures& figures,
                   DriverMetrics& metrics)
      : prefix_(std::move(run) + "-"),
        figures_(figures),
        metrics_(metrics),
        guests_(networks),
        tests_under_way_(networks) {}

  // One line of the watch. Fails if it is the end of it: what is told from then on is not complete.
  Result<> take(std::string_view line, Instant now);

  // The newest guest of that network that was tested and stays; nobody before the first.
  std::optional<std::uint64_t> newest_guest(std::size_t network) const;
  // One that will be tested was asked for.
  void expect_test(std::size_t network) { ++tests_under_way_[network]; }
  // It was not made, or is gone: its test will not come.
  void give_up_test(std::size_t network) { --tests_under_way_[network]; }
  // Nobody can be pinged there yet, but a test is under way after which somebody can.
  bool guest_is_coming(std::size_t network) const {
    return guests_[network].empty() && tests_under_way_[network] > 0;
  }
  // It is about to be deleted: nobody is told to ping it from now on.
  void leave(std::uint64_t attachment);

 private:
  std::string name_of(std::uint64_t number) const { return prefix_ + std::to_string(number); }
  void take_status(std::uint64_t number, const Json& status, Instant now);
  void take_address(std::uint64_t number, std::string_view address, Instant now);
  void take_test(std::uint64_t number, const Json& report, Instant now);
  void take_errors(std::uint64_t number, const Json& status);
  void gone(std::uint64_t number, Instant now);
  void stage(std::uint64_t number, const char* name, Instant from, Instant to);

  std::string prefix_;
  AttachmentFigures& figures_;
  DriverMetrics& metrics_;
  AddressLedger ledger_;
  std::vector<std::set<std::uint64_t>> guests_;  // by network
  std::vector<int> tests_under_way_;             // by network
};

}  // namespace fairlead::bench
