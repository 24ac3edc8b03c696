// The fence's kernel programs (fence.bpf.c) and their maps, loaded, and found again where an
// earlier process pinned them. For KernelFence and the test that runs frames through the programs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/vip/fence/attachments.h"
#include "features/vip/fence/fence_maps.h"
#include "foundation/base/result.h"

struct bpf_object;

namespace fairlead::vip {

inline constexpr const char* kAddresses = "fl_addresses";
inline constexpr const char* kDeadlines = "fl_deadlines";
inline constexpr const char* kSightings = "fl_sightings";
inline constexpr const char* kGuarded = "fl_guarded";
inline constexpr const char* kCounters = "fl_counters";

// What a frame of an interface begins with.
enum class Framing { ethernet, bare };

class FencePrograms {
 public:
  // On the maps that are pinned in the folder, if all are there in the shape that this version
  // uses, else on new and empty ones.
  static Result<FencePrograms> load(const std::string& folder);

  bool adopted() const { return adopted_; }
  int map(const char* name) const;
  int program(Direction direction, Framing framing = Framing::ethernet) const;

  // VIPs that an earlier process of another version fenced here: fenced by this one too, closed.
  Result<> inherit(const std::string& folder);
  // Pins the maps, in place of others.
  Result<> pin(const std::string& folder) const;

 private:
  struct Close {
    void operator()(bpf_object* object) const;
  };
  FencePrograms() = default;

  std::unique_ptr<bpf_object, Close> object_;
  bool adopted_ = false;
};

// What libbpf has to say matters only when the kernel refuses the programs; otherwise a missing
// filter, which is nothing special, would be a warning.
void quiet_libbpf();

// The file that a map is pinned as.
std::string pin_of(const std::string& folder, const char* map);

// The keys of a map of VIPs, whatever its values are.
std::vector<fl_fence_address> keys_of(int addresses);

}  // namespace fairlead::vip
