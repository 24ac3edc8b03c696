#include "tools/bench/attachment_events.h"

#include <fmt/format.h>

#include <charconv>

namespace fairlead::bench {
namespace {

constexpr std::size_t kMostText = 200;  // of what a hook or a host said

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find('\n'), kMostText)));
}

}  // namespace

Result<> AttachmentEvents::take(std::string_view line, Instant now) {
  const Result<wire::ParsedJson> event = wire::parse_json(line);
  if (!event) return fail(Code::corrupt, "an event that is no JSON: " + first_line(line));
  const std::string_view type = wire::find_string(event->value, "type");
  if (type == "ERROR") return fail(Code::gone, "the watch ended: " + first_line(line));
  const std::string_view name = wire::find_string(event->value, "object.metadata.name");
  if (!name.starts_with(prefix_)) return {};
  std::uint64_t number = figures_.lives.size();
  std::from_chars(name.data() + prefix_.size(), name.data() + name.size(), number);
  if (number >= figures_.lives.size()) return {};
  if (type == "DELETED") {
    gone(number, now);
  } else if (const Json* status = wire::find(event->value, "object.status")) {
    take_status(number, *status, now);
  }
  return {};
}

void AttachmentEvents::stage(std::uint64_t number, const char* name, Instant from, Instant to) {
  if (from != Instant{}) metrics_.stage(figures_.part_of(number), name, to - from);
}

void AttachmentEvents::take_status(std::uint64_t number, const Json& status, Instant now) {
  Life& life = figures_.lives[number];
  if (const std::string_view ip = wire::find_string(status, "ipv4"); !ip.empty())
    take_address(number, ip, now);
  if (life.ready == Instant{} && !wire::find_string(status, "ifcName").empty()) {
    life.ready = now;
    ++figures_.ready;
    stage(number, "createToReady", life.due, now);
    stage(number, "addressedToReady", life.addressed, now);
  }
  const Json* report = wire::find(status, "postCreateExecReport");
  if (report && life.tested == Instant{}) take_test(number, *report, now);
  take_errors(number, status);
}

void AttachmentEvents::take_address(std::uint64_t number, std::string_view address, Instant now) {
  Life& life = figures_.lives[number];
  if (life.addressed == Instant{}) {
    life.addressed = now;
    ++figures_.addressed;
    stage(number, "createToAddressed", life.due, now);
  }
  if (life.ip == address) return;
  life.ip = address;
  const std::optional<std::uint64_t> other = ledger_.take(number, life.network, address);
  if (!other) return;
  metrics_.duplicate();
  figures_.duplicates.add(
      fmt::format("{} of {} is also that of {}", address, name_of(number), name_of(*other)));
}

void AttachmentEvents::take_test(std::uint64_t number, const Json& report, Instant now) {
  const Json* exit = wire::find(report, "exitStatus");
  if (!exit || !exit->is_number()) return;
  Life& life = figures_.lives[number];
  life.tested = now;
  give_up_test(life.network);
  life.test_status = exit->to_number<int>();
  stage(number, "readyToTested", life.ready, now);
  metrics_.tested(life.peer.has_value(), life.test_status);
  if (life.peer) --figures_.lives[*life.peer].pingers;
  if (life.test_status != 0) {
    std::string said = first_line(wire::find_string(report, "stdErr"));
    if (said.empty()) said = first_line(wire::find_string(report, "stdOut"));
    figures_.failed_tests.add(
        fmt::format("{}: exit status {}: {}", name_of(number), life.test_status, said));
  } else if (!life.leaving) {
    guests_[life.network].insert(number);
  }
}

void AttachmentEvents::take_errors(std::uint64_t number, const Json& status) {
  Life& life = figures_.lives[number];
  const Json* errors = wire::find(status, "errors.host");
  if (life.broken || !errors || !errors->is_array() || errors->get_array().empty()) return;
  life.broken = true;
  metrics_.broken();
  const Json& first = errors->get_array().front();
  figures_.broken.add(fmt::format("{}: {}", name_of(number),
                                  first.is_string() ? first_line(first.get_string()) : ""));
}

void AttachmentEvents::gone(std::uint64_t number, Instant now) {
  Life& life = figures_.lives[number];
  ledger_.release(number);
  leave(number);
  if (life.gone != Instant{}) return;
  life.gone = now;
  if (life.wants_test && life.tested == Instant{}) give_up_test(life.network);
  ++figures_.gone;
  if (life.remove_due == Instant{})
    figures_.vanished.add(name_of(number));  // nobody here has asked for that
}

std::optional<std::uint64_t> AttachmentEvents::newest_guest(std::size_t network) const {
  const std::set<std::uint64_t>& guests = guests_[network];
  if (guests.empty()) return std::nullopt;
  return *guests.rbegin();
}

void AttachmentEvents::leave(std::uint64_t attachment) {
  Life& life = figures_.lives[attachment];
  life.leaving = true;
  guests_[life.network].erase(attachment);
}

}  // namespace fairlead::bench
