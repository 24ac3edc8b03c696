// SqliteVfs: SQLite on a SimDisk. What xSync covered survives a power loss; the rest does what the
// disk's seed decides. Locks and the WAL index live in memory and die with the process.
//
// Single threaded. Open databases with the VFS's name and SQLITE_OPEN_NOMUTEX or the default;
// several connections to one file see each other's locks as in one machine.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "foundation/runtime/time.h"
#include "sim/world/disk.h"

namespace fairlead::sim {

class SqliteVfs {
 public:
  // `name` is unique in the process while this lives. REQUIRES: every database on it is closed
  // before its end. `wall_now` is what SQLite's date functions see.
  SqliteVfs(SimDisk& disk, std::string name, std::function<WallTime()> wall_now = {});
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;
  ~SqliteVfs();

  const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fairlead::sim
