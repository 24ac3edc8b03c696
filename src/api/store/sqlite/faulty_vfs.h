// FaultyVfs: SQLite's default VFS, with writes and syncs that fail when told to. For tests.
#pragma once

#include <atomic>
#include <string>

namespace fairlead::store {

class FaultyVfs {
 public:
  explicit FaultyVfs(std::string name);
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs();

  const std::string& name() const { return name_; }

  // What every write or sync answers from now on; SQLITE_OK: what the real one answers.
  std::atomic<int> write_status{0};
  std::atomic<int> sync_status{0};
  std::atomic<int> syncs{0};

 private:
  struct State;
  std::string name_;
  State* state_;
};

}  // namespace fairlead::store
