// Where the fence's programs are attached: on both directions of every guarded interface.
//
//   tcx      (Linux 6.6 and newer) links, pinned beside the maps, before all other programs.
//   Nothing
//            but removing the pins or the interface takes them away.
//   clsact   (older) filters of the lowest priority number. `tc filter del` and `tc qdisc del`
//   remove
//            them, so they are looked after (KernelFence::check).
//
// Either way a program stays when the process that attached it ends, and is replaced in one step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead::vip {

enum class Mechanism { tcx, clsact };
enum class Direction { in, out };
constexpr Direction kDirections[] = {Direction::in, Direction::out};

std::string_view mechanism_name(Mechanism mechanism);
std::string_view direction_name(Direction direction);

// The better one that this kernel has.
Mechanism best_mechanism();

class Attachments {
 public:
  enum class State {
    current,  // this very program, first in order
    older,    // another program of ours
    late,     // this program, but others come before it
    missing,
  };

  Attachments(Mechanism mechanism, std::string folder)
      : mechanism_(mechanism), folder_(std::move(folder)) {}

  Mechanism mechanism() const { return mechanism_; }

  State observe(std::uint32_t ifindex, Direction direction, int program) const;
  // Attaches or replaces; there is no moment without a program if there was one. REQUIRES, if the
  // state is late: another load of the program, because none can be on an interface twice.
  Result<> attach(std::uint32_t ifindex, Direction direction, int program);
  // Both directions. What is not there is fine.
  Result<> detach(std::uint32_t ifindex);

  // Pins of links whose interface is gone, removed. With clsact nothing is left of it anyway.
  void prune();
  // Whether the network namespace is gone for which links were pinned here: its lo is.
  bool orphaned() const;
  // The interfaces that have links pinned here.
  std::vector<std::uint32_t> pinned() const;

 private:
  std::string pin(std::uint32_t ifindex, Direction direction) const;
  Result<> detach(std::uint32_t ifindex, Direction direction);
  Result<> attach_link(std::uint32_t ifindex, Direction direction, int program);
  Result<> attach_filter(std::uint32_t ifindex, Direction direction, int program);

  Mechanism mechanism_;
  std::string folder_;
};

}  // namespace fairlead::vip
