#include "sim/world/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/world/random.h"

namespace fairlead::sim {

std::string_view happening_name(Happening what) {
  switch (what) {
    case Happening::turn:
      return "turn";
    case Happening::deliver:
      return "deliver";
    case Happening::finish:
      return "finish";
    case Happening::reset:
      return "reset";
    case Happening::stall:
      return "stall";
    case Happening::dial:
      return "dial";
    case Happening::refuse:
      return "refuse";
    case Happening::establish:
      return "establish";
    case Happening::datagram:
      return "datagram";
    case Happening::drop:
      return "drop";
    case Happening::frame:
      return "frame";
    case Happening::crash:
      return "crash";
    case Happening::restart:
      return "restart";
    case Happening::pause:
      return "pause";
    case Happening::resume:
      return "resume";
    case Happening::cut:
      return "cut";
    case Happening::heal:
      return "heal";
    case Happening::clock:
      return "clock";
    case Happening::disk_write:
      return "disk write";
    case Happening::disk_sync:
      return "disk sync";
    case Happening::disk_name:
      return "disk name";
    case Happening::disk_error:
      return "disk error";
    case Happening::power_cut:
      return "power cut";
    case Happening::work:
      return "work";
    case Happening::note:
      return "note";
  }
  return "?";
}

ActorId Trace::name(std::string actor) {
  names_.push_back(std::move(actor));
  return static_cast<ActorId>(names_.size() - 1);
}

void Trace::add(TraceRecord record, std::uint64_t content) {
  const auto at = static_cast<std::uint64_t>(record.at.time_since_epoch().count());
  const std::uint64_t who = (static_cast<std::uint64_t>(record.subject) << 40) |
                            (static_cast<std::uint64_t>(record.object) << 16) |
                            static_cast<std::uint64_t>(record.what);
  digest_ = mix(digest_ ^ at, who);
  digest_ = mix(digest_ ^ record.a, record.b ^ content);
  if (!record.text.empty()) digest_ = hash_bytes(record.text, digest_);
  ++count_;
  if (records_.size() >= keep_) records_.pop_front();
  records_.push_back(std::move(record));
}

std::string Trace::to_string(const TraceRecord& record) const {
  const auto nanoseconds = record.at.time_since_epoch().count();
  std::string line =
      fmt::format("{:>6}.{:09}  {:<10} {}", nanoseconds / 1'000'000'000,
                  nanoseconds % 1'000'000'000, happening_name(record.what), names_[record.subject]);
  if (record.object != 0) line += " -> " + names_[record.object];
  if (record.a != 0 || record.b != 0) line += fmt::format("  {} {}", record.a, record.b);
  if (!record.text.empty()) line += "  " + record.text;
  return line;
}

std::string Trace::tail(std::size_t lines) const {
  std::string text;
  const std::size_t from = records_.size() - std::min(lines, records_.size());
  for (std::size_t i = from; i < records_.size(); ++i) text += to_string(records_[i]) + "\n";
  return text;
}

}  // namespace fairlead::sim
