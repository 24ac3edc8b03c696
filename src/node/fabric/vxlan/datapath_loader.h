// Datapath: the kernel programs and their maps, loaded and attached with libbpf.
//
// Nothing is pinned anywhere. A filter keeps its program and the program its maps, so they live as
// long as the interfaces do, whatever becomes of the agent, and go with the last of them; a new
// process finds the maps again through any interface that has such a filter.
//
// Calls block; one thread at a time. Needs CAP_SYS_ADMIN (or CAP_BPF, CAP_NET_ADMIN and the right
// to open maps by id).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "node/fabric/vxlan/datapath.h"
#include "node/fabric/vxlan/entries.h"
#include "node/fabric/vxlan/plan.h"

struct bpf_object;

namespace fairlead::fabric::vxlan {

using Counters = std::array<std::uint64_t, FL_COUNTERS>;
std::string_view counter_name(fl_counter counter);

enum class Program { from_guest, from_tunnel };

class Datapath {
 public:
  struct Sizes {
    std::uint32_t ports = 4096;
    std::uint32_t stations = 65536;
    bool operator==(const Sizes&) const = default;
  };

  // Loads the programs, on the maps that filters of these interfaces use if they have the shape
  // that is needed, else on new and empty ones.
  static Result<Datapath> open(std::span<const std::uint32_t> interfaces, const Sizes& sizes);

  bool adopted() const { return adopted_; }

  Result<fl_tunnel> tunnel() const;
  Result<> set_tunnel(const fl_tunnel& tunnel);

  // Tells of every entry, one by one.
  Result<> each(Table table, const std::function<void(Entry)>& told) const;
  Result<> put(const Entry& entry);    // fails with exhausted when the map is full
  Result<> drop(const EntryKey& key);  // what is gone already is fine

  // The program that filters what comes in on an interface.
  Result<Guard> guard_of(std::uint32_t ifindex, Program program) const;
  // Replaces what is there in one step.
  Result<> attach(std::uint32_t ifindex, Program program);

  Result<Counters> counters() const;

 private:
  struct Close {
    void operator()(bpf_object* object) const;
  };
  Datapath() = default;
  int map_fd(std::string_view name) const;
  int program_fd(Program program) const;

  std::unique_ptr<bpf_object, Close> object_;
  bool adopted_ = false;
};

}  // namespace fairlead::fabric::vxlan
