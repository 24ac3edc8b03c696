#include "features/vip/fence/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>

#include "features/vip/fence/descriptor.h"
#include "features/vip/fence/fence_object.h"
#include "foundation/base/check.h"

namespace fairlead::vip {
namespace {

// What libbpf complains about while it loads programs: the end of it says why the kernel refused.
thread_local std::string* complaints = nullptr;
int print(libbpf_print_level level, const char* format, va_list arguments) {
  if (complaints == nullptr || level != LIBBPF_WARN) return 0;
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, arguments);
  *complaints += line;
  return 0;
}

bool has_shape(int fd, const bpf_map* wanted) {
  bpf_map_info info;
  std::memset(&info, 0, sizeof(info));
  std::uint32_t size = sizeof(info);
  return bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == bpf_map__type(wanted) &&
         info.key_size == bpf_map__key_size(wanted) &&
         info.value_size == bpf_map__value_size(wanted) &&
         info.max_entries == bpf_map__max_entries(wanted) &&
         info.map_flags == bpf_map__map_flags(wanted);
}

// The maps of an earlier process, if all are there in the shape that this version uses. The object
// takes them then.
Result<bool> adopt_maps(bpf_object* object, const std::string& folder) {
  std::map<std::string, Descriptor> found;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    Descriptor fd(bpf_obj_get(pin_of(folder, bpf_map__name(map)).c_str()));
    if (!fd && errno != ENOENT)
      return fail(errno_error("open " + pin_of(folder, bpf_map__name(map))));
    if (!fd || !has_shape(fd.get(), map)) return false;
    found.emplace(bpf_map__name(map), std::move(fd));
  }
  for (const auto& [name, fd] : found)
    if (bpf_map__reuse_fd(bpf_object__find_map_by_name(object, name.c_str()), fd.get()) != 0)
      return fail(errno_error("adopt map " + name));
  return true;
}

Error load_error(int error_number, const std::string& said) {
  Error error = errno_error("load the programs of the fence", error_number);
  if (error_number == EPERM || error_number == EACCES)
    return {Code::forbidden,
            error.message + ": needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"};
  if (!said.empty()) error.message += ": " + said;
  return error;
}

}  // namespace

void quiet_libbpf() { libbpf_set_print(print); }

std::string pin_of(const std::string& folder, const char* map) {
  return folder + "/" + std::string(std::string_view(map).substr(3));
}

std::vector<fl_fence_address> keys_of(int addresses) {
  std::vector<fl_fence_address> keys;
  fl_fence_address key{};
  while (keys.size() < FL_FENCE_SLOTS &&
         bpf_map_get_next_key(addresses, keys.empty() ? nullptr : &keys.back(), &key) == 0)
    keys.push_back(key);
  return keys;
}

void FencePrograms::Close::operator()(bpf_object* object) const { bpf_object__close(object); }

Result<FencePrograms> FencePrograms::load(const std::string& folder) {
  quiet_libbpf();
  const std::span<const char> bytes = fence_object();
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = "fairlead";
  FencePrograms loaded;
  loaded.object_.reset(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
  if (!loaded.object_) return fail(errno_error("open the programs of the fence"));
  FL_TRY(loaded.adopted_, adopt_maps(loaded.object_.get(), folder));
  std::string said;
  complaints = &said;
  const int error = bpf_object__load(loaded.object_.get());
  complaints = nullptr;
  if (error != 0) return fail(load_error(-error, said));
  return loaded;
}

int FencePrograms::map(const char* name) const {
  const int fd = bpf_object__find_map_fd_by_name(object_.get(), name);
  CHECK(fd >= 0);
  return fd;
}

int FencePrograms::program(Direction direction, Framing framing) const {
  const bool in = direction == Direction::in;
  const char* name = in ? "fl_fence_in" : "fl_fence_out";
  if (framing == Framing::bare) name = in ? "fl_bare_in" : "fl_bare_out";
  const bpf_program* found = bpf_object__find_program_by_name(object_.get(), name);
  CHECK(found != nullptr);
  return bpf_program__fd(found);
}

Result<> FencePrograms::inherit(const std::string& folder) {
  const Descriptor old(bpf_obj_get(pin_of(folder, kAddresses).c_str()));
  bpf_map_info info;
  std::memset(&info, 0, sizeof(info));
  std::uint32_t size = sizeof(info);
  if (!old || bpf_obj_get_info_by_fd(old.get(), &info, &size) != 0 ||
      info.key_size != sizeof(fl_fence_address))
    return {};
  fl_fence_place place{};
  for (const fl_fence_address& key : keys_of(old.get())) {
    if (bpf_map_update_elem(map(kAddresses), &key, &place, BPF_ANY) != 0)
      return fail(errno_error("write map fl_addresses"));
    ++place.slot;
  }
  return {};
}

Result<> FencePrograms::pin(const std::string& folder) const {
  const bpf_map* one = nullptr;
  bpf_object__for_each_map(one, object_.get()) {
    const std::string path = pin_of(folder, bpf_map__name(one));
    const std::string fresh = path + "-new";
    ::unlink(fresh.c_str());
    if (bpf_obj_pin(bpf_map__fd(one), fresh.c_str()) != 0) return fail(errno_error("pin " + fresh));
    if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(errno_error("rename " + fresh));
  }
  return {};
}

}  // namespace fairlead::vip
