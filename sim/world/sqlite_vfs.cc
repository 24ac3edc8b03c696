#include "sim/world/sqlite_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "foundation/base/check.h"

namespace fairlead::sim {
namespace {

class OpenDatabaseFile;

constexpr int kShmSlots = SQLITE_SHM_NLOCK;

// What the connections to one path share: the lock byte range and the WAL index.
struct SharedNode {
  std::uint64_t epoch = 0;
  int shared = 0;
  OpenDatabaseFile* reserved = nullptr;
  OpenDatabaseFile* pending = nullptr;
  OpenDatabaseFile* exclusive = nullptr;
  std::vector<std::unique_ptr<char[]>> regions;
  int shm_users = 0;
  std::array<int, kShmSlots> slots{};  // -1: held exclusively, n: shared by n
};

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int status_of(const Error& error, int otherwise) {
  return error.code == Code::exhausted ? SQLITE_FULL : otherwise;
}

class OpenDatabaseFile {
 public:
  OpenDatabaseFile(SimDisk& disk, std::unique_ptr<SimFile> file, std::shared_ptr<SharedNode> node,
                   int flags)
      : disk_(disk), file_(std::move(file)), node_(std::move(node)) {
    delete_on_close_ = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    constexpr int kJournals =
        SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL | SQLITE_OPEN_SUPER_JOURNAL;
    sync_directory_ = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kJournals) != 0;
  }
  ~OpenDatabaseFile() {
    shm_unmap();
    unlock(SQLITE_LOCK_NONE);
    if (delete_on_close_) (void)disk_.remove(file_->path());
  }

  int read(void* into, int size, sqlite3_int64 offset) {
    const std::span<char> bytes(static_cast<char*>(into), static_cast<std::size_t>(size));
    const Result<std::size_t> n = file_->read(static_cast<std::uint64_t>(offset), bytes);
    if (!n) return SQLITE_IOERR_READ;
    if (*n == bytes.size()) return SQLITE_OK;
    std::memset(bytes.data() + *n, 0, bytes.size() - *n);
    return SQLITE_IOERR_SHORT_READ;
  }
  int write(const void* from, int size, sqlite3_int64 offset) {
    const std::string_view bytes(static_cast<const char*>(from), static_cast<std::size_t>(size));
    const Result<> done = file_->write(static_cast<std::uint64_t>(offset), bytes);
    return done ? SQLITE_OK : status_of(done.error(), SQLITE_IOERR_WRITE);
  }
  int truncate(sqlite3_int64 size) {
    const Result<> done = file_->truncate(static_cast<std::uint64_t>(size));
    return done ? SQLITE_OK : status_of(done.error(), SQLITE_IOERR_TRUNCATE);
  }
  // As SQLite's own Unix layer: the first sync of a new journal makes its name durable too.
  int sync() {
    if (!file_->sync()) return SQLITE_IOERR_FSYNC;
    if (!std::exchange(sync_directory_, false)) return SQLITE_OK;
    return disk_.sync_directory(parent_of(file_->path())) ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
  }
  sqlite3_int64 size() const { return static_cast<sqlite3_int64>(file_->size()); }

  int lock(int level) {
    if (level <= level_) return SQLITE_OK;
    const auto others = [this](OpenDatabaseFile* holder) { return holder && holder != this; };
    if (level == SQLITE_LOCK_SHARED) {
      if (others(node_->pending) || others(node_->exclusive)) return SQLITE_BUSY;
      ++node_->shared;
      level_ = SQLITE_LOCK_SHARED;
      return SQLITE_OK;
    }
    if (others(node_->reserved)) return SQLITE_BUSY;
    if (level == SQLITE_LOCK_RESERVED) {
      node_->reserved = this;
      level_ = SQLITE_LOCK_RESERVED;
      return SQLITE_OK;
    }
    if (others(node_->pending)) return SQLITE_BUSY;
    node_->pending = this;
    level_ = SQLITE_LOCK_PENDING;
    if (node_->shared > 1) return SQLITE_BUSY;
    node_->exclusive = this;
    level_ = SQLITE_LOCK_EXCLUSIVE;
    return SQLITE_OK;
  }
  int unlock(int level) {
    if (level >= level_) return SQLITE_OK;
    for (OpenDatabaseFile** holder : {&node_->reserved, &node_->pending, &node_->exclusive})
      if (*holder == this) *holder = nullptr;
    if (level == SQLITE_LOCK_NONE) --node_->shared;
    level_ = level;
    return SQLITE_OK;
  }
  bool reserved_by_anyone() const { return node_->reserved || node_->pending || node_->exclusive; }

  int shm_map(int region, int size, bool extend, void volatile** at) {
    if (!std::exchange(shm_mapped_, true)) ++node_->shm_users;
    *at = nullptr;
    while (extend && node_->regions.size() <= static_cast<std::size_t>(region))
      node_->regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    if (static_cast<std::size_t>(region) < node_->regions.size())
      *at = node_->regions[static_cast<std::size_t>(region)].get();
    return SQLITE_OK;
  }
  int shm_lock(int first, int count, int flags) {
    const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    const int end = first + count;
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      for (int i = first; i < end; ++i) shm_release(i);
      return SQLITE_OK;
    }
    for (int i = first; i < end; ++i) {
      if (held_[i] != 0) continue;
      if (exclusive ? node_->slots[i] != 0 : node_->slots[i] < 0) return SQLITE_BUSY;
    }
    for (int i = first; i < end; ++i) {
      if (held_[i] != 0) continue;
      held_[i] = exclusive ? -1 : 1;
      node_->slots[i] += held_[i];
    }
    return SQLITE_OK;
  }
  void shm_unmap() {
    if (!std::exchange(shm_mapped_, false)) return;
    for (int i = 0; i < kShmSlots; ++i) shm_release(i);
    if (--node_->shm_users == 0) node_->regions.clear();
  }

  const DiskSettings& settings() const { return disk_.settings(); }

 private:
  void shm_release(int slot) { node_->slots[slot] -= std::exchange(held_[slot], 0); }

  SimDisk& disk_;
  std::unique_ptr<SimFile> file_;
  std::shared_ptr<SharedNode> node_;
  bool delete_on_close_ = false;
  bool sync_directory_ = false;
  int level_ = SQLITE_LOCK_NONE;
  bool shm_mapped_ = false;
  std::array<int, kShmSlots> held_{};  // -1: exclusively, 1: shared
};

// What SQLite allocates for us.
struct FileHandle {
  sqlite3_file base;
  OpenDatabaseFile* open;
};

OpenDatabaseFile& opened(sqlite3_file* file) { return *reinterpret_cast<FileHandle*>(file)->open; }

int close_file(sqlite3_file* file) {
  delete std::exchange(reinterpret_cast<FileHandle*>(file)->open, nullptr);
  return SQLITE_OK;
}
int read_file(sqlite3_file* f, void* into, int n, sqlite3_int64 at) {
  return opened(f).read(into, n, at);
}
int write_file(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  return opened(f).write(from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) { return opened(f).truncate(size); }
int sync_file(sqlite3_file* f, int) { return opened(f).sync(); }
int file_size(sqlite3_file* f, sqlite3_int64* size) {
  *size = opened(f).size();
  return SQLITE_OK;
}
int lock_file(sqlite3_file* f, int level) { return opened(f).lock(level); }
int unlock_file(sqlite3_file* f, int level) { return opened(f).unlock(level); }
int check_reserved(sqlite3_file* f, int* reserved) {
  *reserved = opened(f).reserved_by_anyone();
  return SQLITE_OK;
}
int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file* f) { return static_cast<int>(opened(f).settings().sector); }
int device_characteristics(sqlite3_file* f) {
  return opened(f).settings().power_safe_overwrite ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
}
int shm_map(sqlite3_file* f, int region, int size, int extend, void volatile** at) {
  return opened(f).shm_map(region, size, extend != 0, at);
}
int shm_lock(sqlite3_file* f, int first, int count, int flags) {
  return opened(f).shm_lock(first, count, flags);
}
void shm_barrier(sqlite3_file*) {}
int shm_unmap(sqlite3_file* f, int) {
  opened(f).shm_unmap();
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

}  // namespace

struct SqliteVfs::State {
  State(SimDisk& the_disk, std::string the_name, std::function<WallTime()> clock)
      : disk(the_disk), name(std::move(the_name)), wall_now(std::move(clock)) {}

  SimDisk& disk;
  std::string name;
  std::function<WallTime()> wall_now;
  std::map<std::string, std::weak_ptr<SharedNode>> nodes;
  std::uint64_t next_temporary = 1;
  Random random{1};
  sqlite3_vfs vfs{};

  static State& of(sqlite3_vfs* registered) { return *static_cast<State*>(registered->pAppData); }

  // Locks and shared memory of a process that died are not those of the next one.
  std::shared_ptr<SharedNode> node(const std::string& path) {
    std::shared_ptr<SharedNode> found = nodes[path].lock();
    if (found && found->epoch == disk.epoch()) return found;
    found = std::make_shared<SharedNode>();
    found->epoch = disk.epoch();
    nodes[path] = found;
    return found;
  }

  int open(const char* given, FileHandle* handle, int flags, int* flags_out) {
    handle->base.pMethods = nullptr;
    const std::string path =
        given ? given : "temporary-" + name + "-" + std::to_string(next_temporary++);
    const SimDisk::Open how = (flags & SQLITE_OPEN_CREATE) == 0      ? SimDisk::Open::existing
                              : (flags & SQLITE_OPEN_EXCLUSIVE) != 0 ? SimDisk::Open::create_new
                                                                     : SimDisk::Open::create;
    Result<std::unique_ptr<SimFile>> file = disk.open(path, how);
    if (!file) return status_of(file.error(), SQLITE_CANTOPEN);
    handle->open = new OpenDatabaseFile(disk, std::move(*file), node(path), flags);
    handle->base.pMethods = &kMethods;
    if (flags_out) *flags_out = flags;
    return SQLITE_OK;
  }

  int remove(const std::string& path, bool sync) {
    const Result<> removed = disk.remove(path);
    if (!removed)
      return removed.error().code == Code::not_found ? SQLITE_IOERR_DELETE_NOENT
                                                     : SQLITE_IOERR_DELETE;
    if (!sync) return SQLITE_OK;
    return disk.sync_directory(parent_of(path)) ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
  }

  void fill() {
    vfs.iVersion = 2;
    vfs.szOsFile = sizeof(FileHandle);
    vfs.mxPathname = 1'024;
    vfs.zName = name.c_str();
    vfs.pAppData = this;
    vfs.xOpen = [](sqlite3_vfs* v, const char* path, sqlite3_file* file, int flags, int* out) {
      return of(v).open(path, reinterpret_cast<FileHandle*>(file), flags, out);
    };
    vfs.xDelete = [](sqlite3_vfs* v, const char* path, int sync) {
      return of(v).remove(path, sync != 0);
    };
    vfs.xAccess = [](sqlite3_vfs* v, const char* path, int, int* out) {
      *out = of(v).disk.exists(path);
      return SQLITE_OK;
    };
    vfs.xFullPathname = [](sqlite3_vfs*, const char* path, int size, char* out) {
      if (std::strlen(path) >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
      std::strcpy(out, path);
      return SQLITE_OK;
    };
    vfs.xRandomness = [](sqlite3_vfs* v, int size, char* out) {
      for (int i = 0; i < size; ++i) out[i] = static_cast<char>(of(v).random.next());
      return size;
    };
    vfs.xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };
    vfs.xGetLastError = [](sqlite3_vfs*, int, char*) { return 0; };
    vfs.xCurrentTimeInt64 = [](sqlite3_vfs* v, sqlite3_int64* out) {
      const WallTime now = of(v).wall_now ? of(v).wall_now() : WallTime{};
      // Milliseconds since noon of 24 November 4714 BC, the beginning of Julian days.
      constexpr sqlite3_int64 kUnixEpoch = 210'866'760'000'000;
      *out = kUnixEpoch +
             std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
      return SQLITE_OK;
    };
  }
};

SqliteVfs::SqliteVfs(SimDisk& disk, std::string name, std::function<WallTime()> wall_now)
    : state_(std::make_unique<State>(disk, std::move(name), std::move(wall_now))) {
  CHECK(sqlite3_vfs_find(state_->name.c_str()) == nullptr);
  state_->fill();
  CHECK(sqlite3_vfs_register(&state_->vfs, 0) == SQLITE_OK);
}

SqliteVfs::~SqliteVfs() { sqlite3_vfs_unregister(&state_->vfs); }

const std::string& SqliteVfs::name() const { return state_->name; }

}  // namespace fairlead::sim
