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

#include "features/vip/fence/descriptor.h"
#include "features/vip/fence/pins.h"

namespace fairlead::vip {
namespace {

constexpr const char* kLoopback = "lo";
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

Result<std::uint32_t> find_interface(const std::string& name) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return fail(errno_error("list interfaces"));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_PACKET || name != one->ifa_name)
      continue;
    sockaddr_ll link{};
    std::memcpy(&link, one->ifa_addr, sizeof(link));
    if (link.sll_hatype != ARPHRD_ETHER && link.sll_hatype != ARPHRD_LOOPBACK)
      return fail(Code::unsupported, "interface " + name + " is not Ethernet");
    return static_cast<std::uint32_t>(link.sll_ifindex);
  }
  return fail(Code::not_found, "there is no interface " + name);
}

// What network namespaces left behind that are gone.
void remove_orphans(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored))
    if (Attachments(Mechanism::tcx, entry.path()).orphaned())
      std::filesystem::remove_all(entry.path(), ignored);
}

Result<> replace_older(Attachments& attachments, const FencePrograms& programs) {
  for (const std::uint32_t ifindex : attachments.pinned())
    for (const Direction direction : kDirections) {
      const int program = programs.program(direction);
      if (attachments.observe(ifindex, direction, program) != Attachments::State::older) continue;
      FL_CHECKED(attachments.attach(ifindex, direction, program));
    }
  return {};
}

}  // namespace

std::string_view counter_name(fl_fence_counter counter) {
  constexpr std::string_view kNames[] = {"arp", "nd", "source", "question", "delivery", "transit"};
  static_assert(std::size(kNames) == FL_FENCE_COUNTERS);
  return kNames[counter];
}

KernelFence::KernelFence(BpfFileSystem bpf, std::string folder, FencePrograms programs,
                         DeadlineTable deadlines, Attachments attachments)
    : bpf_(std::move(bpf)),
      folder_(std::move(folder)),
      programs_(std::move(programs)),
      deadlines_(std::move(deadlines)),
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
  return std::unique_ptr<KernelFence>(new KernelFence(
      std::move(bpf), folder, std::move(programs), std::move(deadlines), std::move(attachments)));
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
  return std::unique_ptr<KernelFence>(new KernelFence(
      std::move(bpf), folder, std::move(programs), std::move(deadlines), std::move(attachments)));
}

Result<bool> KernelFence::restore_programs(std::uint32_t ifindex) {
  bool restored = false;
  for (const Direction direction : kDirections) {
    const int program = programs_.program(direction);
    const Attachments::State state = attachments_.observe(ifindex, direction, program);
    if (state == Attachments::State::current) continue;
    if (state == Attachments::State::late) {
      FL_TRY(const FencePrograms again, FencePrograms::load(folder_));
      FL_CHECKED(attachments_.attach(ifindex, direction, again.program(direction)));
    } else {
      FL_CHECKED(attachments_.attach(ifindex, direction, program));
    }
    restored = true;
  }
  return restored;
}

Result<> KernelFence::guard(const std::string& interface) {
  FL_TRY(const std::uint32_t ifindex, find_interface(interface));
  FL_TRY([[maybe_unused]] const bool restored, restore_programs(ifindex));
  const std::uint32_t yes = 1;
  if (bpf_map_update_elem(programs_.map(kGuarded), &ifindex, &yes, BPF_ANY) != 0)
    return fail(errno_error("write map fl_guarded"));
  guarded_.insert_or_assign(interface, ifindex);
  return {};
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
      const auto known = guarded_.find(name);
      if (known != guarded_.end() && known->second == ::if_nametoindex(name.c_str())) continue;
      FL_CHECKED(guard(name));
    }
    FL_TRY(const std::uint32_t slot, place(vip, guarded_.at(interface)));
    watched_.insert_or_assign(vip, Watched{slot, interface});
    return {};
  };
  if (const Result<> added = add(); !added) return fail(added.error().context(what));
  return {};
}

Result<> KernelFence::open_until(const Ip& vip, Instant deadline) {
  const auto found = watched_.find(vip);
  if (found == watched_.end())
    return fail(Code::not_found, "fence " + vip.to_string() + ": it is not watched");
  const auto nanoseconds = std::max<std::int64_t>(deadline.time_since_epoch().count(), 0);
  deadlines_.set(found->second.slot, static_cast<std::uint64_t>(nanoseconds));
  return {};
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

Result<std::vector<std::string>> KernelFence::check() {
  std::vector<std::string> restored;
  attachments_.prune();
  const std::map<std::string, std::uint32_t> before = guarded_;
  for (const auto& [interface, ifindex] : before) {
    const Result<std::uint32_t> now = find_interface(interface);
    if (!now && now.error().code == Code::not_found) continue;
    if (!now) return fail(now.error());
    FL_TRY(const bool programs, restore_programs(*now));
    FL_CHECKED(guard(interface));
    if (programs) restored.push_back("programs on " + interface);
  }
  for (auto& [vip, watched] : watched_) {
    const fl_fence_address key = key_of(vip);
    const std::uint32_t ifindex = guarded_.at(watched.interface);
    fl_fence_place there{};
    const bool known = bpf_map_lookup_elem(programs_.map(kAddresses), &key, &there) == 0;
    if (known && there.slot == watched.slot && there.ifindex == ifindex) continue;
    FL_TRY(watched.slot, place(vip, ifindex));
    if (!known) restored.push_back("virtual IP " + vip.to_string());
  }
  return restored;
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
  for (const char* map : {kAddresses, kDeadlines, kGuarded, kCounters})
    ::unlink(pin_of(folder, map).c_str());
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) return fail(errno_error("remove " + folder));
  return {};
}

}  // namespace fairlead::vip
