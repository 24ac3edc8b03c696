// SimDisk: a disk and its file system that keep exactly what was synced, and of the rest whatever
// the seed decides.
//
// At a power loss each unsynced sector of a file is kept, dropped or garbled on its own; a size
// that was not synced may be the old one, the new one or one between; names (create, rename,
// remove) become durable in order, and only by syncing a directory. A sync that failed has lost its
// bytes for good, as on Linux: a later sync that succeeds does not bring them back.
//
// Used by Machine (through SimFiles and SqliteVfs) and by tests that need a disk without a world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "sim/world/random.h"

namespace fairlead::sim {

struct DiskSettings {
  std::uint64_t capacity = 4ull << 30;  // bytes of all files together; beyond: ENOSPC
  std::size_t sector = 512;
  // A write never damages bytes of the sector that it did not write.
  bool power_safe_overwrite = true;
  // A disk that is not says "synced" and keeps the bytes in a cache that the power loss empties. No
  // program can survive it: the way to show that a scenario would notice.
  bool honest_sync = true;
  // The fate of an unsynced sector; the rest is dropped.
  std::uint32_t keep_per_million = 450'000;
  std::uint32_t garble_per_million = 100'000;
};

// Chances of EIO for each operation of that kind.
struct DiskFaults {
  std::uint32_t read_per_million = 0;
  std::uint32_t write_per_million = 0;
  std::uint32_t sync_per_million = 0;
};

struct DiskEvent {
  enum class Kind { write, sync, name, error, power_cut };
  Kind kind = Kind::write;
  std::string_view path;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class SimDisk;

// An open file. Every handle goes stale (EIO) when its machine crashes.
class SimFile {
 public:
  ~SimFile();
  // Fewer bytes than asked for only at the end of the file.
  Result<std::size_t> read(std::uint64_t offset, std::span<char> into);
  Result<> write(std::uint64_t offset, std::string_view bytes);
  Result<> truncate(std::uint64_t size);
  Result<> sync();
  std::uint64_t size() const;
  const std::string& path() const { return path_; }

 private:
  friend class SimDisk;
  struct Inode;
  SimFile(SimDisk& disk, std::shared_ptr<Inode> inode, std::string path, std::uint64_t epoch);
  SimDisk& disk_;
  std::shared_ptr<Inode> inode_;
  std::string path_;
  std::uint64_t epoch_;
};

class SimDisk {
 public:
  enum class Open { existing, create, create_new };
  struct Loss {  // what the last power loss did
    std::uint64_t kept = 0;
    std::uint64_t dropped = 0;
    std::uint64_t garbled = 0;
    std::uint64_t names_lost = 0;
  };

  explicit SimDisk(Random random, DiskSettings settings = {});
  ~SimDisk();

  Result<std::unique_ptr<SimFile>> open(const std::string& path, Open how);
  bool exists(const std::string& path) const;
  Result<> remove(const std::string& path);
  Result<> rename(const std::string& from, const std::string& to);
  Result<> make_directories(const std::string& path);
  Result<> sync_directory(const std::string& path);
  Result<std::vector<std::string>> list(const std::string& directory) const;

  const DiskSettings& settings() const { return settings_; }
  std::uint64_t used() const;
  void set_capacity(std::uint64_t bytes) { settings_.capacity = bytes; }
  void set_faults(DiskFaults faults) { faults_ = faults; }
  const DiskFaults& faults() const { return faults_; }

  // The nth changing operation from now (1: the next one) does not return: from then on everything
  // fails with EIO until power_on(). `cut` is told.
  void cut_power_at_operation(std::uint64_t nth, std::function<void()> cut);
  std::uint64_t operations() const { return operations_; }

  // The process died: its handles go stale, the page cache stays, nothing works until power_on().
  void detach();
  // The machine died: detach, and decide what of the unsynced is left.
  Loss lose_power();
  void power_on();
  // Grows when handles go stale; for layers that keep state beside a file.
  std::uint64_t epoch() const { return epoch_; }

  void set_observer(std::function<void(const DiskEvent&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  friend class SimFile;
  using Inode = SimFile::Inode;
  using Names = std::map<std::string, std::shared_ptr<Inode>>;  // null: a directory
  struct NameChange {
    std::string removed;           // empty: none
    std::string added;             // empty: none
    std::shared_ptr<Inode> inode;  // of `added`
    bool touches(const std::string& directory) const;
    void apply(Names& names) const;
  };

  Result<> begin(std::string_view what, const std::string& path, std::uint32_t fault_per_million);
  Result<> available(std::string_view what, const std::string& path) const;
  void change_name(NameChange change);
  void resolve_unsynced(Inode& inode, Loss& loss);
  void observe(DiskEvent::Kind kind, std::string_view path, std::uint64_t offset = 0,
               std::uint64_t size = 0);

  Random random_;
  DiskSettings settings_;
  DiskFaults faults_;
  Names names_;  // as programs see them
  Names durable_names_;
  std::vector<NameChange> pending_names_;
  std::uint64_t epoch_ = 1;
  bool powered_ = true;
  std::uint64_t operations_ = 0;
  std::uint64_t cut_at_operation_ = 0;  // 0: never
  std::function<void()> on_cut_;
  std::function<void(const DiskEvent&)> observer_;
};

}  // namespace fairlead::sim
