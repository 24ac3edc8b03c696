#include "features/vip/fence/attachments.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>

#include "features/vip/fence/descriptor.h"

namespace fairlead::vip {
namespace {

// Of newer kernels than Debian 12's headers know: linux/bpf.h of 6.6.
constexpr auto kTcxIngress = static_cast<bpf_attach_type>(46);
constexpr auto kTcxEgress = static_cast<bpf_attach_type>(47);
constexpr std::uint32_t kBefore = 1U << 3;  // BPF_F_BEFORE: without a relative, before all
struct TcxLinkInfo {
  std::uint32_t type, id, program, pad;
  std::uint32_t ifindex;  // 0: the interface is gone
  std::uint32_t attach_type;
  std::uint8_t room[64];
};

constexpr std::uint32_t kHandle = 0xfa1d;
constexpr std::uint32_t kPriority = 1;
constexpr std::uint32_t kLoopback = 1;  // in every network namespace

bpf_attach_type attach_type(Direction direction) {
  return direction == Direction::in ? kTcxIngress : kTcxEgress;
}

std::optional<TcxLinkInfo> link_info(int link) {
  TcxLinkInfo info;
  std::memset(&info, 0, sizeof(info));
  std::uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(link, &info, &size) != 0) return std::nullopt;
  return info;
}

struct ProgramFacts {
  std::uint32_t id = 0;
  std::array<std::uint8_t, BPF_TAG_SIZE> tag{};  // a hash of its instructions
  std::vector<std::uint32_t> maps;               // ids
  bool same_as(const ProgramFacts& other) const { return tag == other.tag && maps == other.maps; }
};

std::optional<ProgramFacts> program_facts(int program) {
  bpf_prog_info info;
  std::memset(&info, 0, sizeof(info));  // an older kernel wants the rest to be zero
  ProgramFacts facts;
  facts.maps.resize(16);
  info.nr_map_ids = static_cast<std::uint32_t>(facts.maps.size());
  info.map_ids = reinterpret_cast<std::uintptr_t>(facts.maps.data());
  std::uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0) return std::nullopt;
  facts.id = info.id;
  facts.maps.resize(std::min<std::size_t>(info.nr_map_ids, facts.maps.size()));
  std::ranges::copy(info.tag, facts.tag.begin());
  return facts;
}

std::optional<ProgramFacts> program_facts_by_id(std::uint32_t id) {
  const Descriptor program(bpf_prog_get_fd_by_id(id));
  if (!program) return std::nullopt;
  return program_facts(program.get());
}

bool is_first(std::uint32_t ifindex, Direction direction, std::uint32_t program_id) {
  std::array<std::uint32_t, 64> ids{};
  auto count = static_cast<std::uint32_t>(ids.size());
  return bpf_prog_query(static_cast<int>(ifindex), attach_type(direction), 0, nullptr, ids.data(),
                        &count) == 0 &&
         count > 0 && ids[0] == program_id;
}

bpf_tc_hook hook_of(std::uint32_t ifindex, Direction direction) {
  bpf_tc_hook hook{};
  hook.sz = sizeof(hook);
  hook.ifindex = static_cast<int>(ifindex);
  hook.attach_point = direction == Direction::in ? BPF_TC_INGRESS : BPF_TC_EGRESS;
  return hook;
}

bpf_tc_opts options_of() {
  bpf_tc_opts options{};
  options.sz = sizeof(options);
  options.handle = kHandle;
  options.priority = kPriority;
  return options;
}

std::string place_name(std::uint32_t ifindex, Direction direction) {
  return "interface " + std::to_string(ifindex) + " (" + std::string(direction_name(direction)) +
         ")";
}

}  // namespace

std::string_view mechanism_name(Mechanism mechanism) {
  return mechanism == Mechanism::tcx ? "tcx" : "clsact";
}

std::string_view direction_name(Direction direction) {
  return direction == Direction::in ? "in" : "out";
}

Mechanism best_mechanism() {
  std::uint32_t count = 0;
  const int known = bpf_prog_query(kLoopback, kTcxIngress, 0, nullptr, nullptr, &count);
  return known == 0 || errno != EINVAL ? Mechanism::tcx : Mechanism::clsact;
}

std::string Attachments::pin(std::uint32_t ifindex, Direction direction) const {
  return folder_ + "/link-" + std::to_string(ifindex) + "-" +
         std::string(direction_name(direction));
}

Attachments::State Attachments::observe(std::uint32_t ifindex, Direction direction,
                                        int program) const {
  std::optional<ProgramFacts> there;
  if (mechanism_ == Mechanism::tcx) {
    const Descriptor link(bpf_obj_get(pin(ifindex, direction).c_str()));
    const std::optional<TcxLinkInfo> info = link ? link_info(link.get()) : std::nullopt;
    if (!info || info->ifindex != ifindex) return State::missing;
    there = program_facts_by_id(info->program);
  } else {
    const bpf_tc_hook hook = hook_of(ifindex, direction);
    bpf_tc_opts options = options_of();
    if (bpf_tc_query(&hook, &options) != 0) return State::missing;
    there = program_facts_by_id(options.prog_id);
  }
  const std::optional<ProgramFacts> ours = program_facts(program);
  if (!there || !ours || !there->same_as(*ours)) return State::older;
  if (mechanism_ == Mechanism::tcx && !is_first(ifindex, direction, there->id)) return State::late;
  return State::current;
}

Result<> Attachments::attach(std::uint32_t ifindex, Direction direction, int program) {
  return mechanism_ == Mechanism::tcx ? attach_link(ifindex, direction, program)
                                      : attach_filter(ifindex, direction, program);
}

Result<> Attachments::attach_link(std::uint32_t ifindex, Direction direction, int program) {
  const std::string path = pin(ifindex, direction);
  const Descriptor old(bpf_obj_get(path.c_str()));
  if (observe(ifindex, direction, program) == State::older) {
    if (bpf_link_update(old.get(), program, nullptr) == 0) return {};
    return fail(errno_error("replace the fence on " + place_name(ifindex, direction)));
  }
  bpf_link_create_opts options{};
  options.sz = sizeof(options);
  options.flags = kBefore;
  const Descriptor link(
      bpf_link_create(program, static_cast<int>(ifindex), attach_type(direction), &options));
  if (!link) return fail(errno_error("attach the fence to " + place_name(ifindex, direction)));
  // Pinned under another name first: the old link, if there is one, goes when the new one is safe.
  const std::string fresh = path + "-new";
  ::unlink(fresh.c_str());
  if (bpf_obj_pin(link.get(), fresh.c_str()) != 0) return fail(errno_error("pin " + fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(errno_error("rename " + fresh));
  return {};
}

Result<> Attachments::attach_filter(std::uint32_t ifindex, Direction direction, int program) {
  bpf_tc_hook hook = hook_of(ifindex, direction);
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST)
    return fail(errno_error("add clsact to " + place_name(ifindex, direction), -error));
  bpf_tc_opts options = options_of();
  options.flags = BPF_TC_F_REPLACE;
  options.prog_fd = program;
  if (const int error = bpf_tc_attach(&hook, &options); error != 0)
    return fail(errno_error("attach the fence to " + place_name(ifindex, direction), -error));
  return {};
}

Result<> Attachments::detach(std::uint32_t ifindex) {
  FL_CHECKED(detach(ifindex, Direction::in));
  return detach(ifindex, Direction::out);
}

Result<> Attachments::detach(std::uint32_t ifindex, Direction direction) {
  if (mechanism_ == Mechanism::tcx) {
    const std::string path = pin(ifindex, direction);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(errno_error("remove " + path));
    return {};
  }
  const bpf_tc_hook hook = hook_of(ifindex, direction);
  const bpf_tc_opts options = options_of();
  const int error = bpf_tc_detach(&hook, &options);
  if (error != 0 && error != -ENOENT && error != -EINVAL && error != -ENODEV)
    return fail(errno_error("remove the fence from " + place_name(ifindex, direction), -error));
  return {};
}

std::vector<std::uint32_t> Attachments::pinned() const {
  std::set<std::uint32_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename();
    std::uint32_t ifindex = 0;
    if (!name.starts_with("link-")) continue;
    std::from_chars(name.data() + 5, name.data() + name.size(), ifindex);
    if (ifindex != 0) found.insert(ifindex);
  }
  return {found.begin(), found.end()};
}

bool Attachments::orphaned() const {
  const Descriptor link(bpf_obj_get(pin(kLoopback, Direction::in).c_str()));
  const std::optional<TcxLinkInfo> info = link ? link_info(link.get()) : std::nullopt;
  return info && info->ifindex == 0;
}

void Attachments::prune() {
  for (const std::uint32_t ifindex : pinned())
    for (const Direction direction : kDirections) {
      const Descriptor link(bpf_obj_get(pin(ifindex, direction).c_str()));
      const std::optional<TcxLinkInfo> info = link ? link_info(link.get()) : std::nullopt;
      if (info && info->ifindex == 0) ::unlink(pin(ifindex, direction).c_str());
    }
}

}  // namespace fairlead::vip
