// The implementation of faulty_vfs.h; linked into the tests only, hence the name.
#include <sqlite3.h>

#include <cstring>

#include "api/store/sqlite/faulty_vfs.h"
#include "foundation/base/check.h"

namespace fairlead::store {
namespace {

// SQLite allocates szOsFile bytes; the real file's memory follows this header.
struct FaultyFile {
  sqlite3_file base;
  FaultyVfs* vfs;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

FaultyFile* faulty(sqlite3_file* file) { return reinterpret_cast<FaultyFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return faulty(file)->real(); }

int close(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }
int read(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
  return real(file)->pMethods->xRead(real(file), into, size, offset);
}
int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  if (const int status = faulty(file)->vfs->write_status) return status;
  return real(file)->pMethods->xWrite(real(file), from, size, offset);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  return real(file)->pMethods->xTruncate(real(file), size);
}
int sync(sqlite3_file* file, int flags) {
  ++faulty(file)->vfs->syncs;
  if (const int status = faulty(file)->vfs->sync_status) return status;
  return real(file)->pMethods->xSync(real(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
int unlock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xUnlock(real(file), level);
}
int check_reserved(sqlite3_file* file, int* result) {
  return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
int control(sqlite3_file* file, int what, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), what, argument);
}
int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int characteristics(sqlite3_file* file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}

constexpr sqlite3_io_methods kMethods = {2,
                                         close,
                                         read,
                                         write,
                                         truncate,
                                         sync,
                                         file_size,
                                         lock,
                                         unlock,
                                         check_reserved,
                                         control,
                                         sector_size,
                                         characteristics,
                                         shm_map,
                                         shm_lock,
                                         shm_barrier,
                                         shm_unmap,
                                         nullptr,
                                         nullptr};

}  // namespace

struct FaultyVfs::State {
  sqlite3_vfs vfs;
  sqlite3_vfs* real;
  FaultyVfs* owner;

  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
                  int* out_flags) {
    auto* state = static_cast<State*>(vfs->pAppData);
    FaultyFile* opened = faulty(file);
    std::memset(static_cast<void*>(opened), 0, static_cast<std::size_t>(vfs->szOsFile));
    const int status = state->real->xOpen(state->real, name, opened->real(), flags, out_flags);
    if (status != SQLITE_OK) return status;
    opened->vfs = state->owner;
    opened->base.pMethods = &kMethods;
    return SQLITE_OK;
  }
};

FaultyVfs::FaultyVfs(std::string name) : name_(std::move(name)), state_(new State) {
  state_->real = sqlite3_vfs_find(nullptr);
  state_->owner = this;
  state_->vfs = *state_->real;
  state_->vfs.pNext = nullptr;
  state_->vfs.zName = name_.c_str();
  state_->vfs.pAppData = state_;
  state_->vfs.szOsFile = state_->real->szOsFile + static_cast<int>(sizeof(FaultyFile));
  state_->vfs.xOpen = &State::open;
  CHECK(sqlite3_vfs_register(&state_->vfs, 0) == SQLITE_OK);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
  delete state_;
}

}  // namespace fairlead::store
