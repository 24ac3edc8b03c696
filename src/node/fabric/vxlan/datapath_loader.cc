#include "node/fabric/vxlan/datapath_loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>

#include "foundation/base/check.h"
#include "foundation/base/log.h"
#include "node/fabric/vxlan/datapath_object.h"

namespace fairlead::fabric::vxlan {
namespace {

constexpr std::uint32_t kHandle = 1;
constexpr std::uint32_t kPriority = 1;
constexpr const char* kTunnel = "fl_tunnel";
constexpr const char* kCounters = "fl_counters";

const char* program_name(Program program) {
  return program == Program::from_guest ? "fl_from_guest" : "fl_from_tunnel";
}

// What libbpf has to say matters only when the kernel refuses the programs; otherwise a missing
// filter, which is nothing special, would be a warning.
thread_local bool loading = false;
int print(libbpf_print_level level, const char* format, va_list arguments) {
  if (!loading || level != LIBBPF_WARN) return 0;
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, arguments);
  log::warning("libbpf", {{"says", line}});
  return 0;
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct ProgramFacts {
  bpf_prog_info info{};
  std::vector<std::uint32_t> maps;  // ids
};

// A kernel that is older than the headers wants everything that it does not know to be zero,
// padding included, which an initialiser need not touch.
template <class Info>
void clear(Info& info) {
  std::memset(&info, 0, sizeof(info));
}

std::optional<ProgramFacts> facts_of(int fd) {
  ProgramFacts facts;
  clear(facts.info);
  facts.maps.resize(16);
  facts.info.nr_map_ids = static_cast<std::uint32_t>(facts.maps.size());
  facts.info.map_ids = reinterpret_cast<std::uintptr_t>(facts.maps.data());
  std::uint32_t size = sizeof(facts.info);
  if (bpf_obj_get_info_by_fd(fd, &facts.info, &size) != 0) return std::nullopt;
  facts.maps.resize(std::min<std::size_t>(facts.info.nr_map_ids, facts.maps.size()));
  return facts;
}

std::optional<bpf_map_info> map_facts(int fd) {
  bpf_map_info info;
  clear(info);
  std::uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0) return std::nullopt;
  return info;
}

bpf_tc_hook hook_of(std::uint32_t ifindex) {
  bpf_tc_hook hook{};
  hook.sz = sizeof(hook);
  hook.ifindex = static_cast<int>(ifindex);
  hook.attach_point = BPF_TC_INGRESS;
  return hook;
}

bpf_tc_opts options_of() {
  bpf_tc_opts options{};
  options.sz = sizeof(options);
  options.handle = kHandle;
  options.priority = kPriority;
  return options;
}

// The program that filters an interface; nullopt: none.
std::optional<ProgramFacts> attached(std::uint32_t ifindex) {
  const bpf_tc_hook hook = hook_of(ifindex);
  bpf_tc_opts options = options_of();
  if (bpf_tc_query(&hook, &options) != 0) return std::nullopt;
  const Fd program(bpf_prog_get_fd_by_id(options.prog_id));
  return program.get() < 0 ? std::nullopt : facts_of(program.get());
}

// The maps in use on one interface, by name.
std::map<std::string, Fd, std::less<>> maps_behind(std::uint32_t ifindex) {
  std::map<std::string, Fd, std::less<>> maps;
  const std::optional<ProgramFacts> program = attached(ifindex);
  if (!program) return maps;
  for (const std::uint32_t id : program->maps) {
    Fd map(bpf_map_get_fd_by_id(id));
    if (map.get() < 0) continue;
    if (const std::optional<bpf_map_info> info = map_facts(map.get()))
      maps.insert_or_assign(info->name, std::move(map));
  }
  return maps;
}

bool has_shape(int fd, const bpf_map* wanted) {
  const std::optional<bpf_map_info> info = map_facts(fd);
  return info && info->type == bpf_map__type(wanted) &&
         info->key_size == bpf_map__key_size(wanted) &&
         info->value_size == bpf_map__value_size(wanted) &&
         info->max_entries == bpf_map__max_entries(wanted) &&
         info->map_flags == bpf_map__map_flags(wanted);
}

bool of_this_generation(int tunnel_fd) {
  const std::uint32_t zero = 0;
  fl_tunnel tunnel{};
  return bpf_map_lookup_elem(tunnel_fd, &zero, &tunnel) == 0 &&
         (tunnel.generation == FL_GENERATION || tunnel.generation == 0);
}

bool fits(bpf_object* object, const std::map<std::string, Fd, std::less<>>& maps) {
  const bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    const auto found = maps.find(std::string_view(bpf_map__name(map)));
    if (found == maps.end() || !has_shape(found->second.get(), map)) return false;
  }
  return of_this_generation(maps.find(std::string_view(kTunnel))->second.get());
}

}  // namespace

std::string_view counter_name(fl_counter counter) {
  switch (counter) {
    case FL_TO_LOCAL:
      return "to_local";
    case FL_TO_REMOTE:
      return "to_remote";
    case FL_ARP_ANSWERED:
      return "arp_answered";
    case FL_ND_ANSWERED:
      return "nd_answered";
    case FL_DROP_PORT:
      return "drop_port";
    case FL_DROP_MALFORMED:
      return "drop_malformed";
    case FL_DROP_SOURCE_MAC:
      return "drop_source_mac";
    case FL_DROP_SOURCE_IP:
      return "drop_source_ip";
    case FL_DROP_SOURCE_ARP:
      return "drop_source_arp";
    case FL_DROP_ND:
      return "drop_nd";
    case FL_DROP_GROUP:
      return "drop_group";
    case FL_DROP_PROTOCOL:
      return "drop_protocol";
    case FL_DROP_NOBODY:
      return "drop_nobody";
    case FL_DROP_PEER:
      return "drop_peer";
    case FL_DROP_KERNEL:
      return "drop_kernel";
    case FL_COUNTERS:
      break;
  }
  return "";
}

void Datapath::Close::operator()(bpf_object* object) const { bpf_object__close(object); }

Result<Datapath> Datapath::open(std::span<const std::uint32_t> interfaces, const Sizes& sizes) {
  libbpf_set_print(print);
  const std::span<const char> bytes = datapath_object();
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = "fairlead";
  Datapath datapath;
  datapath.object_.reset(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
  if (!datapath.object_) return fail(errno_error("open the kernel programs"));
  bpf_object* object = datapath.object_.get();

  bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "fl_ports"), sizes.ports);
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "fl_places"), sizes.stations);
  // A station may have two addresses.
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "fl_answers"), 2 * sizes.stations);
  for (const std::uint32_t ifindex : interfaces) {
    const auto maps = maps_behind(ifindex);
    if (!fits(object, maps)) continue;
    for (const auto& [name, fd] : maps)
      if (bpf_map* map = bpf_object__find_map_by_name(object, name.c_str()))
        if (bpf_map__reuse_fd(map, fd.get()) != 0) return fail(errno_error("adopt map " + name));
    datapath.adopted_ = true;
    break;
  }
  loading = true;
  const int loaded = bpf_object__load(object);
  loading = false;
  if (loaded != 0) return fail(errno_error("load the kernel programs", -loaded));
  // The tunnel's program keeps also the maps that it does not use: without a station on this host
  // it is the only one that does.
  const bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (bpf_prog_bind_map(datapath.program_fd(Program::from_tunnel), bpf_map__fd(map), nullptr) !=
        0)
      return fail(errno_error("bind map " + std::string(bpf_map__name(map))));
  }
  return datapath;
}

int Datapath::map_fd(std::string_view name) const {
  const int fd = bpf_object__find_map_fd_by_name(object_.get(), std::string(name).c_str());
  CHECK(fd >= 0);
  return fd;
}

int Datapath::program_fd(Program program) const {
  const bpf_program* found = bpf_object__find_program_by_name(object_.get(), program_name(program));
  CHECK(found != nullptr);
  return bpf_program__fd(found);
}

Result<fl_tunnel> Datapath::tunnel() const {
  const std::uint32_t zero = 0;
  fl_tunnel tunnel{};
  if (bpf_map_lookup_elem(map_fd(kTunnel), &zero, &tunnel) != 0)
    return fail(errno_error("read map fl_tunnel"));
  return tunnel;
}

Result<> Datapath::set_tunnel(const fl_tunnel& tunnel) {
  const std::uint32_t zero = 0;
  if (bpf_map_update_elem(map_fd(kTunnel), &zero, &tunnel, BPF_ANY) != 0)
    return fail(errno_error("write map fl_tunnel"));
  return {};
}

Result<> Datapath::each(Table table, const std::function<void(Entry)>& told) const {
  const int fd = map_fd(table_name(table));
  const bpf_map* map =
      bpf_object__find_map_by_name(object_.get(), std::string(table_name(table)).c_str());
  std::string key(bpf_map__key_size(map), '\0');
  std::string value(bpf_map__value_size(map), '\0');
  bool first = true;
  while (bpf_map_get_next_key(fd, first ? nullptr : key.data(), key.data()) == 0) {
    first = false;
    if (bpf_map_lookup_elem(fd, key.data(), value.data()) == 0) told({{table, key}, value});
  }
  if (errno != ENOENT) return fail(errno_error("read map " + std::string(table_name(table))));
  return {};
}

Result<> Datapath::put(const Entry& entry) {
  if (bpf_map_update_elem(map_fd(table_name(entry.key.table)), entry.key.bytes.data(),
                          entry.value.data(), BPF_ANY) == 0)
    return {};
  const std::string what = "write map " + std::string(table_name(entry.key.table));
  if (errno == E2BIG) return fail(Code::exhausted, what + ": it is full");
  return fail(errno_error(what));
}

Result<> Datapath::drop(const EntryKey& key) {
  if (bpf_map_delete_elem(map_fd(table_name(key.table)), key.bytes.data()) == 0 || errno == ENOENT)
    return {};
  return fail(errno_error("write map " + std::string(table_name(key.table))));
}

Result<Guard> Datapath::guard_of(std::uint32_t ifindex, Program program) const {
  const std::optional<ProgramFacts> there = attached(ifindex);
  if (!there) return Guard::none;
  if (std::string_view(there->info.name) != program_name(program)) return Guard::none;
  const std::optional<ProgramFacts> ours = facts_of(program_fd(program));
  if (!ours) return fail(errno_error("look at the kernel programs"));
  const bool same =
      std::ranges::equal(there->info.tag, ours->info.tag) && there->maps == ours->maps;
  return same ? Guard::current : Guard::older;
}

Result<> Datapath::attach(std::uint32_t ifindex, Program program) {
  bpf_tc_hook hook = hook_of(ifindex);
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST)
    return fail(errno_error("add clsact to interface " + std::to_string(ifindex), -error));
  bpf_tc_opts options = options_of();
  options.flags = BPF_TC_F_REPLACE;
  options.prog_fd = program_fd(program);
  if (const int error = bpf_tc_attach(&hook, &options); error != 0)
    return fail(errno_error("attach filter to interface " + std::to_string(ifindex), -error));
  return {};
}

Result<Counters> Datapath::counters() const {
  const int processors = libbpf_num_possible_cpus();
  if (processors < 0) return fail(errno_error("count processors", -processors));
  std::vector<std::uint64_t> each(static_cast<std::size_t>(processors));
  Counters counters{};
  for (std::uint32_t i = 0; i < FL_COUNTERS; ++i) {
    if (bpf_map_lookup_elem(map_fd(kCounters), &i, each.data()) != 0)
      return fail(errno_error("read map fl_counters"));
    for (const std::uint64_t count : each) counters[i] += count;
  }
  return counters;
}

}  // namespace fairlead::fabric::vxlan
