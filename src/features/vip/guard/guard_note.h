// What the engine leaves with the guard, over a pipe: the margin, and the farewells to its peers,
// sealed. Each note replaces the one before. Pure.
//
//   one line: margin in nanoseconds, a space, "fenced" or "unfenced", then for each peer a space,
//   its address, a space, the datagram in hexadecimal digits
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/runtime/stream.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

// How often each farewell is sent: one that is lost, or overtaken by the next engine's first word,
// costs the rest of the lease.
constexpr int kFarewellCopies = 2;

struct GuardNote {
  struct Farewell {
    runtime::Endpoint to;
    std::string bytes;
    bool operator==(const Farewell&) const = default;
  };
  Duration margin{};
  bool unfenced = false;  // it holds VIPs without a fence: their addresses answer also without it
  std::vector<Farewell> farewells;
  bool operator==(const GuardNote&) const = default;
};

std::string encode(const GuardNote& note);  // with the line's end
std::optional<GuardNote> decode_note(std::string_view line);

// Puts lines together from what a pipe gives; remembers the last whole note.
class NoteReader {
 public:
  void feed(std::string_view bytes);
  const std::optional<GuardNote>& last() const { return last_; }

 private:
  static constexpr std::size_t kLongestLine = 64 << 10;
  std::string partial_;
  std::optional<GuardNote> last_;
};

}  // namespace fairlead::vip
