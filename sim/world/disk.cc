#include "sim/world/disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::sim {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string without_trailing_slash(const std::string& path) {
  return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

bool is_root(const std::string& path) { return path == "/" || path == "." || path.empty(); }

Error disk_error(std::string_view what, std::string_view path, int error) {
  return errno_error(std::string(what).append(" ").append(path), error);
}

// Byte ranges that were written and not synced: begin → end, apart from each other.
class Ranges {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second >= begin) {
      --at;
      begin = at->first;
    }
    while (at != ranges_.end() && at->first <= end) {
      end = std::max(end, at->second);
      at = ranges_.erase(at);
    }
    ranges_.emplace(begin, end);
  }
  void clear() { ranges_.clear(); }
  const std::map<std::uint64_t, std::uint64_t>& all() const { return ranges_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace

struct SimFile::Inode {
  std::string current;  // what programs read: the page cache
  std::string durable;  // what is on the platter
  Ranges dirty;
};

SimFile::SimFile(SimDisk& disk, std::shared_ptr<Inode> inode, std::string path, std::uint64_t epoch)
    : disk_(disk), inode_(std::move(inode)), path_(std::move(path)), epoch_(epoch) {}
SimFile::~SimFile() = default;

std::uint64_t SimFile::size() const { return inode_->current.size(); }

Result<std::size_t> SimFile::read(std::uint64_t offset, std::span<char> into) {
  if (epoch_ != disk_.epoch_) return fail(disk_error("read", path_, EIO));
  FL_CHECKED(disk_.available("read", path_));
  if (disk_.random_.chance(disk_.faults_.read_per_million)) {
    disk_.observe(DiskEvent::Kind::error, path_, offset, into.size());
    return fail(disk_error("read", path_, EIO));
  }
  const std::string& bytes = inode_->current;
  if (offset >= bytes.size()) return 0;
  const std::size_t n = std::min<std::uint64_t>(into.size(), bytes.size() - offset);
  std::memcpy(into.data(), bytes.data() + offset, n);
  return n;
}

Result<> SimFile::write(std::uint64_t offset, std::string_view bytes) {
  if (epoch_ != disk_.epoch_) return fail(disk_error("write", path_, EIO));
  FL_CHECKED(disk_.begin("write", path_, disk_.faults_.write_per_million));
  std::string& current = inode_->current;
  const std::uint64_t end = offset + bytes.size();
  if (end > current.size()) {
    if (disk_.used() + (end - current.size()) > disk_.settings_.capacity) {
      disk_.observe(DiskEvent::Kind::error, path_, offset, bytes.size());
      return fail(disk_error("write", path_, ENOSPC));
    }
    inode_->dirty.add(std::min<std::uint64_t>(current.size(), offset), offset);
    current.resize(end, '\0');
  }
  if (!bytes.empty()) std::memcpy(current.data() + offset, bytes.data(), bytes.size());
  inode_->dirty.add(offset, end);
  disk_.observe(DiskEvent::Kind::write, path_, offset, bytes.size());
  return {};
}

Result<> SimFile::truncate(std::uint64_t size) {
  if (epoch_ != disk_.epoch_) return fail(disk_error("truncate", path_, EIO));
  FL_CHECKED(disk_.begin("truncate", path_, disk_.faults_.write_per_million));
  std::string& current = inode_->current;
  if (size > current.size() && disk_.used() + (size - current.size()) > disk_.settings_.capacity)
    return fail(disk_error("truncate", path_, ENOSPC));
  inode_->dirty.add(std::min<std::uint64_t>(size, current.size()),
                    std::max<std::uint64_t>(size, current.size()));
  current.resize(size, '\0');
  disk_.observe(DiskEvent::Kind::write, path_, size, 0);
  return {};
}

Result<> SimFile::sync() {
  if (epoch_ != disk_.epoch_) return fail(disk_error("sync", path_, EIO));
  if (Result<> begun = disk_.begin("sync", path_, disk_.faults_.sync_per_million); !begun) {
    // The pages count as clean from here on though they never reached the platter.
    if (disk_.powered_) inode_->dirty.clear();
    return begun;
  }
  disk_.observe(DiskEvent::Kind::sync, path_);
  if (!disk_.settings_.honest_sync) return {};
  Inode& inode = *inode_;
  inode.durable.resize(inode.current.size(), '\0');
  for (const auto& [begin, end] : inode.dirty.all()) {
    const std::uint64_t last = std::min<std::uint64_t>(end, inode.current.size());
    if (begin < last)
      std::memcpy(inode.durable.data() + begin, inode.current.data() + begin, last - begin);
  }
  inode.dirty.clear();
  return {};
}

bool SimDisk::NameChange::touches(const std::string& directory) const {
  return (!removed.empty() && parent_of(removed) == directory) ||
         (!added.empty() && parent_of(added) == directory);
}

void SimDisk::NameChange::apply(Names& names) const {
  if (!removed.empty()) names.erase(removed);
  if (!added.empty()) names[added] = inode;
}

SimDisk::SimDisk(Random random, DiskSettings settings) : random_(random), settings_(settings) {}
SimDisk::~SimDisk() = default;

Result<> SimDisk::available(std::string_view what, const std::string& path) const {
  if (!powered_) return fail(disk_error(what, path, EIO));
  return {};
}

Result<> SimDisk::begin(std::string_view what, const std::string& path,
                        std::uint32_t fault_per_million) {
  FL_CHECKED(available(what, path));
  ++operations_;
  if (operations_ == cut_at_operation_) {
    powered_ = false;
    observe(DiskEvent::Kind::power_cut, path);
    if (const auto on_cut = std::exchange(on_cut_, nullptr)) on_cut();
    return fail(disk_error(what, path, EIO));
  }
  if (random_.chance(fault_per_million)) {
    observe(DiskEvent::Kind::error, path);
    return fail(disk_error(what, path, EIO));
  }
  return {};
}

void SimDisk::observe(DiskEvent::Kind kind, std::string_view path, std::uint64_t offset,
                      std::uint64_t size) {
  if (observer_) observer_({.kind = kind, .path = path, .offset = offset, .size = size});
}

void SimDisk::change_name(NameChange change) {
  observe(DiskEvent::Kind::name, change.added.empty() ? change.removed : change.added);
  change.apply(names_);
  pending_names_.push_back(std::move(change));
}

Result<std::unique_ptr<SimFile>> SimDisk::open(const std::string& path, Open how) {
  FL_CHECKED(available("open", path));
  const auto found = names_.find(path);
  if (found != names_.end()) {
    if (!found->second) return fail(disk_error("open", path, EISDIR));
    if (how == Open::create_new) return fail(disk_error("open", path, EEXIST));
    return std::unique_ptr<SimFile>(new SimFile(*this, found->second, path, epoch_));
  }
  const std::string parent = parent_of(path);
  if (how == Open::existing || (!is_root(parent) && !exists(parent)))
    return fail(disk_error("open", path, ENOENT));
  FL_CHECKED(begin("create", path, faults_.write_per_million));
  auto inode = std::make_shared<Inode>();
  change_name({.removed = {}, .added = path, .inode = inode});
  return std::unique_ptr<SimFile>(new SimFile(*this, std::move(inode), path, epoch_));
}

bool SimDisk::exists(const std::string& path) const {
  return is_root(path) || names_.contains(without_trailing_slash(path));
}

Result<> SimDisk::remove(const std::string& path) {
  FL_CHECKED(available("remove", path));
  const auto found = names_.find(path);
  if (found == names_.end()) return fail(disk_error("remove", path, ENOENT));
  if (!found->second) return fail(disk_error("remove", path, EISDIR));
  FL_CHECKED(begin("remove", path, faults_.write_per_million));
  change_name({.removed = path, .added = {}, .inode = nullptr});
  return {};
}

Result<> SimDisk::rename(const std::string& from, const std::string& to) {
  FL_CHECKED(available("rename", from));
  const auto found = names_.find(from);
  if (found == names_.end()) return fail(disk_error("rename", from, ENOENT));
  const std::string parent = parent_of(to);
  if (!is_root(parent) && !exists(parent)) return fail(disk_error("rename to", to, ENOENT));
  FL_CHECKED(begin("rename", from, faults_.write_per_million));
  change_name({.removed = from, .added = to, .inode = found->second});
  return {};
}

Result<> SimDisk::make_directories(const std::string& given) {
  const std::string path = without_trailing_slash(given);
  if (is_root(path)) return {};
  if (const auto found = names_.find(path); found != names_.end()) {
    if (found->second) return fail(disk_error("make directory", path, ENOTDIR));
    return {};
  }
  FL_CHECKED(make_directories(parent_of(path)));
  FL_CHECKED(begin("make directory", path, faults_.write_per_million));
  change_name({.removed = {}, .added = path, .inode = nullptr});
  return {};
}

// As a journal does: syncing a directory also makes durable whatever came before its last change.
Result<> SimDisk::sync_directory(const std::string& given) {
  const std::string path = without_trailing_slash(given);
  if (!exists(path)) return fail(disk_error("sync", path, ENOENT));
  FL_CHECKED(begin("sync", path, faults_.sync_per_million));
  std::size_t count = 0;
  for (std::size_t i = 0; i < pending_names_.size(); ++i)
    if (pending_names_[i].touches(path)) count = i + 1;
  for (std::size_t i = 0; i < count; ++i) pending_names_[i].apply(durable_names_);
  pending_names_.erase(pending_names_.begin(),
                       pending_names_.begin() + static_cast<std::ptrdiff_t>(count));
  observe(DiskEvent::Kind::sync, path);
  return {};
}

Result<std::vector<std::string>> SimDisk::list(const std::string& given) const {
  const std::string directory = without_trailing_slash(given);
  FL_CHECKED(available("list", directory));
  if (!exists(directory)) return fail(disk_error("list", directory, ENOENT));
  std::vector<std::string> children;
  for (const auto& [path, inode] : names_)
    if (parent_of(path) == directory) children.push_back(path.substr(path.rfind('/') + 1));
  return children;
}

std::uint64_t SimDisk::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, inode] : names_)
    if (inode) bytes += inode->current.size();
  return bytes;
}

void SimDisk::cut_power_at_operation(std::uint64_t nth, std::function<void()> cut) {
  CHECK(nth > 0);
  cut_at_operation_ = operations_ + nth;
  on_cut_ = std::move(cut);
}

void SimDisk::detach() {
  ++epoch_;
  powered_ = false;
  cut_at_operation_ = 0;
  on_cut_ = nullptr;
}

SimDisk::Loss SimDisk::lose_power() {
  detach();
  Loss loss;
  const std::size_t survive = random_.below(pending_names_.size() + 1);
  for (std::size_t i = 0; i < survive; ++i) pending_names_[i].apply(durable_names_);
  loss.names_lost = pending_names_.size() - survive;
  pending_names_.clear();
  names_ = durable_names_;
  for (const auto& [path, inode] : names_)
    if (inode) resolve_unsynced(*inode, loss);
  return loss;
}

void SimDisk::power_on() { powered_ = true; }

void SimDisk::resolve_unsynced(Inode& inode, Loss& loss) {
  const std::size_t sector = settings_.sector;
  const std::size_t longest = std::max(inode.current.size(), inode.durable.size());
  std::size_t size = inode.durable.size();
  if (inode.current.size() != size) {
    const std::size_t least = std::min(inode.current.size(), size);
    const std::uint64_t fate = random_.below(3);
    if (fate == 1) size = inode.current.size();
    if (fate == 2)
      size = std::max(least, (least + random_.below(longest - least + 1)) / sector * sector);
  }
  std::string result = inode.durable;
  result.resize(longest, '\0');
  inode.current.resize(longest, '\0');
  std::uint64_t fate_of = static_cast<std::uint64_t>(-1);  // the sector that was decided last
  std::uint64_t fate = 0;
  for (const auto& [begin, end] : inode.dirty.all()) {
    for (std::uint64_t at = begin; at < std::min<std::uint64_t>(end, longest);) {
      const std::uint64_t number = at / sector;
      const std::uint64_t last = std::min<std::uint64_t>({(number + 1) * sector, end, longest});
      if (number != std::exchange(fate_of, number)) {
        const std::uint64_t drawn = random_.below(1'000'000);
        fate = drawn < settings_.keep_per_million                                  ? 0
               : drawn < settings_.keep_per_million + settings_.garble_per_million ? 1
                                                                                   : 2;
        ++(fate == 0 ? loss.kept : fate == 1 ? loss.garbled : loss.dropped);
      }
      if (fate == 0) result.replace(at, last - at, inode.current, at, last - at);
      if (fate == 1) {
        const std::uint64_t from = settings_.power_safe_overwrite ? at : number * sector;
        const std::uint64_t to = settings_.power_safe_overwrite
                                     ? last
                                     : std::min<std::uint64_t>((number + 1) * sector, longest);
        for (std::uint64_t i = from; i < to; ++i) result[i] = static_cast<char>(random_.next());
      }
      at = last;
    }
  }
  result.resize(size);
  inode.current = inode.durable = std::move(result);
  inode.dirty.clear();
}

}  // namespace fairlead::sim
