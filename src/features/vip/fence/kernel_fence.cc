#include "features/vip/fence/kernel_fence.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>

#include "features/vip/fence/descriptor.h"
#include "features/vip/fence/pins.h"

namespace fairlead::vip {
namespace {

constexpr const char* kLoopback = "lo";
constexpr unsigned kIp6Gre = 823, kRawIp = 519;  // of linux/if_arp.h
constexpr std::size_t kLookedAt = 16;            // interfaces without VIPs, each time
fl_fence_address key_of(const Ip& ip) {
  fl_fence_address key{};
  std::ranges::copy(ip.bytes(), key.bytes);
  if (ip.is_v4()) key.bytes[10] = key.bytes[11] = 0xff;
  return key;
}

Ip ip_of(const fl_fence_address& key) {
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const std::uint8_t* bytes = key.bytes;
  if (std::memcmp(bytes, kMapped, sizeof(kMapped)) == 0)
    return Ip::v4(static_cast<std::uint32_t>(bytes[12]) << 24 |
                  static_cast<std::uint32_t>(bytes[13]) << 16 |
                  static_cast<std::uint32_t>(bytes[14]) << 8 | bytes[15]);
  std::array<std::uint8_t, 16> copy{};
  std::ranges::copy(key.bytes, copy.begin());
  return Ip::v6(copy);
}

Result<> check_vip(const Ip& vip) {
  if (vip.is_unicast() && !vip.is_loopback() && (vip.is_v4() || !ip_of(key_of(vip)).is_v4()))
    return {};
  return fail(Code::invalid, vip.to_string() + " cannot be a virtual IP");
}

// Nothing: programs on such an interface would not know where a packet begins.
std::optional<Framing> framing_of(unsigned hardware) {
  switch (hardware) {
    case ARPHRD_ETHER:
    case ARPHRD_LOOPBACK:
      return Framing::ethernet;
    case ARPHRD_NONE:  // tun, wireguard
    case ARPHRD_TUNNEL:
    case ARPHRD_TUNNEL6:
    case ARPHRD_SIT:
    case ARPHRD_IPGRE:
    case kIp6Gre:
    case ARPHRD_PPP:
    case kRawIp:
      return Framing::bare;
    default:
      return std::nullopt;
  }
}

// What network namespaces left behind that are gone.
void remove_orphans(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored))
    if (Attachments(Mechanism::tcx, entry.path()).orphaned())
      std::filesystem::remove_all(entry.path(), ignored);
}

}  // namespace

std::string_view counter_name(fl_fence_counter counter) {
  constexpr std::string_view kNames[] = {"arp", "nd", "source", "question", "delivery", "transit"};
  static_assert(std::size(kNames) == FL_FENCE_COUNTERS);
  return kNames[counter];
}

KernelFence::KernelFence(BpfFileSystem bpf, std::string folder, FencePrograms programs,
                         DeadlineTable deadlines, SightingTable sightings, Attachments attachments)
    : bpf_(std::move(bpf)),
      folder_(std::move(folder)),
      programs_(std::move(programs)),
      deadlines_(std::move(deadlines)),
      sightings_(std::move(sightings)),
      attachments_(std::move(attachments)) {
  read_slots();
}

Result<std::unique_ptr<KernelFence>> KernelFence::open(const Options& options) {
  FL_CHECKED(check_time_namespace());
  FL_TRY(BpfFileSystem bpf, BpfFileSystem::find(options.bpf_file_system));
  FL_TRY(const std::string folder, bpf.fence_folder());
  FL_CHECKED(make_folder(folder));
  remove_orphans(folder.substr(0, folder.rfind('/')));
  FL_TRY(FencePrograms programs, FencePrograms::load(folder));
  Attachments attachments(options.mechanism.value_or(best_mechanism()), folder);
  attachments.prune();
  if (!programs.adopted()) {
    FL_CHECKED(programs.inherit(folder));
    // Programs on the maps of another version go before those maps are forgotten.
    FL_CHECKED(replace_older(attachments, programs));
    FL_CHECKED(programs.pin(folder));
  }
  FL_TRY(DeadlineTable deadlines, DeadlineTable::map(programs.map(kDeadlines)));
  FL_TRY(SightingTable sightings, SightingTable::map(programs.map(kSightings)));
  return std::unique_ptr<KernelFence>(new KernelFence(std::move(bpf), folder, std::move(programs),
                                                      std::move(deadlines), std::move(sightings),
                                                      std::move(attachments)));
}

Result<std::unique_ptr<KernelFence>> KernelFence::look(const Options& options) {
  FL_TRY(const DeadlineTable there, open_shutter(options.bpf_file_system));
  FL_TRY(BpfFileSystem bpf, BpfFileSystem::find(options.bpf_file_system));
  FL_TRY(const std::string folder, bpf.fence_folder());
  FL_TRY(FencePrograms programs, FencePrograms::load(folder));
  if (!programs.adopted())
    return fail(Code::unsupported, "the fence at " + folder + " is of another version of Fairlead");
  FL_TRY(DeadlineTable deadlines, DeadlineTable::map(programs.map(kDeadlines)));
  Attachments attachments(options.mechanism.value_or(best_mechanism()), folder);
  FL_TRY(SightingTable sightings, SightingTable::map(programs.map(kSightings)));
  return std::unique_ptr<KernelFence>(new KernelFence(std::move(bpf), folder, std::move(programs),
                                                      std::move(deadlines), std::move(sightings),
                                                      std::move(attachments)));
}

Result<KernelFence::Interfaces> KernelFence::list_interfaces() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return fail(errno_error("list interfaces"));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  Interfaces interfaces;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    // Without a hardware address: tun, wireguard and the like.
    Interface interface{.ifindex = 0, .framing = Framing::bare};
    if (one->ifa_addr == nullptr) {
      interface.ifindex = ::if_nametoindex(one->ifa_name);
    } else if (one->ifa_addr->sa_family == AF_PACKET) {
      sockaddr_ll link{};
      std::memcpy(&link, one->ifa_addr, sizeof(link));
      interface = {static_cast<std::uint32_t>(link.sll_ifindex), framing_of(link.sll_hatype)};
    }
    if (interface.ifindex != 0) interfaces.emplace(one->ifa_name, interface);
  }
  return interfaces;
}

Result<KernelFence::Interface> KernelFence::find_interface(const std::string& name) {
  FL_TRY(const Interfaces all, list_interfaces());
  const auto found = all.find(name);
  if (found == all.end()) return fail(Code::not_found, "there is no interface " + name);
  return found->second;
}

Result<> KernelFence::replace_older(Attachments& attachments, const FencePrograms& programs) {
  FL_TRY(const Interfaces all, list_interfaces());
  std::map<std::uint32_t, Framing> framings;
  for (const auto& [name, interface] : all)
    if (interface.framing) framings.emplace(interface.ifindex, *interface.framing);
  for (const std::uint32_t ifindex : attachments.pinned())
    for (const Direction direction : kDirections) {
      const auto framing = framings.find(ifindex);
      if (framing == framings.end()) continue;
      const int program = programs.program(direction, framing->second);
      if (attachments.observe(ifindex, direction, program) != Attachments::State::older) continue;
      FL_CHECKED(attachments.attach(ifindex, direction, program));
    }
  return {};
}

Result<bool> KernelFence::restore_programs(const Interface& interface) {
  bool restored = false;
  for (const Direction direction : kDirections) {
    const int program = programs_.program(direction, *interface.framing);
    const Attachments::State state = attachments_.observe(interface.ifindex, direction, program);
    if (state == Attachments::State::current) continue;
    if (state == Attachments::State::late) {
      FL_TRY(const FencePrograms again, FencePrograms::load(folder_));
      FL_CHECKED(attachments_.attach(interface.ifindex, direction,
                                     again.program(direction, *interface.framing)));
    } else {
      FL_CHECKED(attachments_.attach(interface.ifindex, direction, program));
    }
    restored = true;
  }
  return restored;
}

Result<> KernelFence::guard(const std::string& name) {
  FL_TRY(const Interface interface, find_interface(name));
  FL_TRY([[maybe_unused]] const bool restored, guard(name, interface));
  return {};
}

Result<bool> KernelFence::guard(const std::string& name, const Interface& interface) {
  if (!interface.framing)
    return fail(Code::unsupported,
                "interface " + name + " is neither Ethernet nor a tunnel for IP");
  bool restored = false;
  {
    const std::lock_guard attaching(attaching_);
    FL_TRY(restored, restore_programs(interface));
  }
  const std::uint32_t yes = 1;
  if (bpf_map_update_elem(programs_.map(kGuarded), &interface.ifindex, &yes, BPF_ANY) != 0)
    return fail(errno_error("write map fl_guarded"));
  const std::lock_guard lock(mutex_);
  std::uint32_t& known = guarded_[name];
  if (known != 0 && known != interface.ifindex) forget_interface(known);
  known = interface.ifindex;
  return restored;
}

void KernelFence::forget_interface(std::uint32_t ifindex) {
  bpf_map_delete_elem(programs_.map(kGuarded), &ifindex);
}

// Slots of VIPs that others forgot stay taken: that is harmless.
void KernelFence::read_slots() {
  for (const fl_fence_address& key : keys_of(programs_.map(kAddresses))) {
    fl_fence_place place{};
    if (bpf_map_lookup_elem(programs_.map(kAddresses), &key, &place) == 0 &&
        place.slot < used_.size())
      used_.set(place.slot);
  }
}

Result<std::uint32_t> KernelFence::take_slot() {
  for (std::uint32_t slot = 0; slot < used_.size(); ++slot) {
    if (used_.test(slot)) continue;
    used_.set(slot);
    return slot;
  }
  return fail(Code::exhausted,
              "the fence has room for " + std::to_string(FL_FENCE_SLOTS) + " virtual IPs");
}

Result<std::uint32_t> KernelFence::place(const Ip& vip, std::uint32_t ifindex) {
  const fl_fence_address key = key_of(vip);
  fl_fence_place place{};
  if (bpf_map_lookup_elem(programs_.map(kAddresses), &key, &place) != 0) {
    FL_TRY(place.slot, take_slot());
    deadlines_.set(place.slot, 0);
    sightings_.clear(place.slot);
  }
  place.ifindex = ifindex;
  if (bpf_map_update_elem(programs_.map(kAddresses), &key, &place, BPF_ANY) != 0)
    return fail(errno_error("write map fl_addresses"));
  return place.slot;
}

Result<> KernelFence::watch(const Ip& vip, const std::string& interface) {
  const std::string what = "fence " + vip.to_string();
  const auto add = [&]() -> Result<> {
    FL_CHECKED(check_vip(vip));
    for (const std::string& name : {std::string(kLoopback), interface}) {
      if (guarded_index(name) == ::if_nametoindex(name.c_str()) && guarded_index(name) != 0)
        continue;
      FL_TRY(const Interface found, find_interface(name));
      if (found.framing != Framing::ethernet)
        return fail(Code::unsupported, "interface " + name + " is not Ethernet");
      FL_TRY([[maybe_unused]] const bool restored, guard(name, found));
    }
    const std::lock_guard lock(mutex_);
    FL_TRY(const std::uint32_t slot, place(vip, guarded_.at(interface)));
    watched_.insert_or_assign(vip, Watched{slot, interface});
    return {};
  };
  if (const Result<> added = add(); !added) return fail(added.error().context(what));
  return {};
}

std::uint32_t KernelFence::guarded_index(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto known = guarded_.find(name);
  return known == guarded_.end() ? 0 : known->second;
}

Result<> KernelFence::open_until(const Ip& vip, Instant deadline) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(vip);
  if (found == watched_.end())
    return fail(Code::not_found, "fence " + vip.to_string() + ": it is not watched");
  const auto nanoseconds = std::max<std::int64_t>(deadline.time_since_epoch().count(), 0);
  deadlines_.set(found->second.slot, static_cast<std::uint64_t>(nanoseconds));
  return {};
}

Sighting KernelFence::sighting(const Ip& vip) const {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(vip);
  return found == watched_.end() ? Sighting{} : sightings_.get(found->second.slot);
}

void KernelFence::await_first_packet(const Ip& vip) {
  const std::lock_guard lock(mutex_);
  if (const auto found = watched_.find(vip); found != watched_.end())
    sightings_.await_first_packet(found->second.slot);
}

Result<> KernelFence::close(const Ip& vip) {
  const fl_fence_address key = key_of(vip);
  fl_fence_place place{};
  if (bpf_map_lookup_elem(programs_.map(kAddresses), &key, &place) != 0)
    return fail(Code::not_found, "fence " + vip.to_string() + ": it is not watched");
  deadlines_.set(place.slot, 0);
  return {};
}

Result<> KernelFence::forget(const Ip& vip) {
  const fl_fence_address key = key_of(vip);
  fl_fence_place place{};
  const std::lock_guard lock(mutex_);
  watched_.erase(vip);
  if (bpf_map_lookup_elem(programs_.map(kAddresses), &key, &place) != 0) return {};
  if (bpf_map_delete_elem(programs_.map(kAddresses), &key) != 0 && errno != ENOENT)
    return fail(errno_error("write map fl_addresses"));
  deadlines_.set(place.slot, 0);
  used_.reset(place.slot);
  return {};
}

Result<std::vector<FencedVip>> KernelFence::list() const {
  std::vector<FencedVip> all;
  for (const fl_fence_address& key : keys_of(programs_.map(kAddresses))) {
    fl_fence_place place{};
    if (bpf_map_lookup_elem(programs_.map(kAddresses), &key, &place) != 0) continue;
    char name[IF_NAMESIZE] = "";
    ::if_indextoname(place.ifindex, name);
    // Deadlines beyond what Instant can say are as good as its last.
    const std::uint64_t deadline = std::min<std::uint64_t>(deadlines_.get(place.slot), INT64_MAX);
    all.push_back({ip_of(key), name, Instant(Duration(deadline))});
  }
  std::ranges::sort(all, {}, &FencedVip::vip);
  return all;
}

KernelFence::Kept KernelFence::keep(const std::vector<std::string>& interfaces) {
  Kept kept;
  if (const Result<Interfaces> all = list_interfaces(); all)
    keep_interfaces(interfaces, *all, kept);
  else
    for (const std::string& name : interfaces) kept.failed.emplace(name, all.error());
  keep_vips(kept);
  return kept;
}

void KernelFence::keep_interfaces(const std::vector<std::string>& wanted, const Interfaces& all,
                                  Kept& kept) {
  std::map<std::string, std::uint32_t> before;
  std::set<std::string> of_vips;
  {
    const std::lock_guard lock(mutex_);
    before = guarded_;
    for (const auto& [vip, watched] : watched_) of_vips.insert(watched.interface);
    if (!of_vips.empty()) of_vips.insert(kLoopback);
  }
  std::set<std::string> names(wanted.begin(), wanted.end());
  names.insert(of_vips.begin(), of_vips.end());
  for (const auto& [name, ifindex] : before) names.insert(name);
  std::size_t place = 0;
  bool some_gone = false;
  for (const std::string& name : names) {
    const auto found = all.find(name);
    const auto known = before.find(name);
    const bool guarded =
        found != all.end() && known != before.end() && known->second == found->second.ifindex;
    some_gone |= known != before.end() && !guarded;
    if (found == all.end()) {
      const std::lock_guard lock(mutex_);
      if (known != before.end()) forget_interface(known->second);
      guarded_.erase(name);
      continue;
    }
    if (guarded && !of_vips.contains(name) && (place++ - turn_) >= kLookedAt) continue;
    const Result<bool> restored = guard(name, found->second);
    if (!restored) kept.failed.emplace(name, restored.error());
    const bool again = known != before.end() || of_vips.contains(name);
    if (restored && *restored && again) kept.restored.push_back("programs on " + name);
  }
  turn_ = turn_ + kLookedAt < place ? turn_ + kLookedAt : 0;
  if (!some_gone) return;
  const std::lock_guard attaching(attaching_);
  attachments_.prune();
}

void KernelFence::keep_vips(Kept& kept) {
  const std::lock_guard lock(mutex_);
  for (auto& [vip, watched] : watched_) {
    const fl_fence_address key = key_of(vip);
    const auto interface = guarded_.find(watched.interface);
    if (interface == guarded_.end()) continue;
    fl_fence_place there{};
    const bool known = bpf_map_lookup_elem(programs_.map(kAddresses), &key, &there) == 0;
    if (known && there.slot == watched.slot && there.ifindex == interface->second) continue;
    const Result<std::uint32_t> slot = place(vip, interface->second);
    if (!slot) {
      kept.failed.emplace(vip.to_string(), slot.error());
      continue;
    }
    watched.slot = *slot;
    if (!known) kept.restored.push_back("virtual IP " + vip.to_string());
  }
}

std::string KernelFence::description() const {
  if (attachments_.mechanism() == Mechanism::tcx) return "tcx, pinned";
  return "clsact: removable by tc, put back when noticed (the kernel has no tcx before 6.6)";
}

Result<FenceCounters> KernelFence::counters() const {
  const int processors = libbpf_num_possible_cpus();
  if (processors < 0) return fail(errno_error("count processors", -processors));
  std::vector<std::uint64_t> each(static_cast<std::size_t>(processors));
  FenceCounters counters{};
  for (std::uint32_t i = 0; i < counters.size(); ++i) {
    if (bpf_map_lookup_elem(programs_.map(kCounters), &i, each.data()) != 0)
      return fail(errno_error("read map fl_counters"));
    for (const std::uint64_t count : each) counters[i] += count;
  }
  return counters;
}

Result<> KernelFence::dismantle(const Options& options) {
  quiet_libbpf();
  FL_TRY(BpfFileSystem bpf, BpfFileSystem::find(options.bpf_file_system));
  FL_TRY(const std::string folder, bpf.fence_folder());
  const Descriptor guarded(bpf_obj_get(pin_of(folder, kGuarded).c_str()));
  std::vector<std::uint32_t> interfaces;
  std::uint32_t ifindex = 0;
  while (guarded && interfaces.size() < FL_FENCE_GUARDED &&
         bpf_map_get_next_key(guarded.get(), interfaces.empty() ? nullptr : &interfaces.back(),
                              &ifindex) == 0)
    interfaces.push_back(ifindex);
  for (const Mechanism mechanism : {Mechanism::tcx, Mechanism::clsact}) {
    Attachments attachments(mechanism, folder);
    std::ranges::copy(attachments.pinned(), std::back_inserter(interfaces));
    for (const std::uint32_t one : interfaces) {
      FL_CHECKED(attachments.detach(one));
    }
  }
  for (const char* map : {kAddresses, kDeadlines, kSightings, kGuarded, kCounters})
    ::unlink(pin_of(folder, map).c_str());
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) return fail(errno_error("remove " + folder));
  return {};
}

}  // namespace fairlead::vip
