// SqliteStore: the embedded default. One SQLite database in a folder of its own, one process.
//
//   commit     → GroupCommit (commit.h) → SqliteWriter   off the loop; one sync, many transactions
//   get, list  → SqliteReader                            off the loop; on connections of their own
//   watch      → ChangeLog                               recent changes, in memory
//              → SqliteReader                            when the watch is further behind
//
// What is acknowledged survives kill -9 and power loss. When a COMMIT fails, what is on disk is
// unknown and the process ends (`on_fatal`); everything else that can fail is an error of the call:
// a full disk is `exhausted`, and the store goes on reading, and writing when there is room again.
//
// The folder is locked: a second server on it is refused. revision() therefore costs nothing.
//
// REQUIRES: the store outlives its watches and every call. Await close() before destroying it in
// orderly shutdown; without, nothing is lost, but the next start has the log to read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/store/change_log.h"
#include "api/store/sqlite/commit.h"
#include "api/store/sqlite/reader.h"
#include "api/store/store.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

struct SqliteOptions {
  std::string directory;

  // Of an SQLite VFS to use instead of the default one. The directory is then a name in that VFS's
  // world: it is neither made nor locked, and free space is not asked for.
  std::string vfs;

  // Writes are refused with exhausted while the disk has less room than this: a commit that fails
  // for want of space would have to end the process.
  std::uint64_t reserve_bytes = 16ull << 20;

  // The database is not allowed to grow beyond this; writes are then refused with exhausted, until
  // erasing and compacting have made room. 0: no limit.
  std::uint64_t max_database_bytes = 0;

  // How much of the recent past watches find in memory; what lies further back they read from the
  // database.
  std::size_t log_changes = 4'096;
  std::size_t log_bytes = 2 << 20;

  // The write-ahead log is copied into the database when it has this many pages.
  int checkpoint_pages = 4'000;

  // Must not return in production; the default logs and aborts.
  std::function<void(const std::string& why)> on_fatal;
};

class SqliteStore final : public Store {
 public:
  // Synchronous, for start-up: opens or creates, recovers, migrates.
  static Result<std::unique_ptr<SqliteStore>> open(runtime::Runtime& runtime,
                                                   SqliteOptions options);
  ~SqliteStore() override;

  Task<Result<Revision>> revision() override;
  std::optional<Revision> revision_now() const override;
  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<Listing>> list(std::string prefix, ListOptions options) override;
  Task<Result<Committed>> commit(Transaction transaction) override;
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision after) override;
  Task<Result<>> compact(Revision before) override;

  Task<void> close();

  const CommitStats& stats() const { return commits_->stats(); }
  const CheckpointStats& checkpoint_stats() const { return commits_->checkpoint_stats(); }

 private:
  class SqliteWatch;
  SqliteStore(runtime::Runtime& runtime, SqliteOptions options, const SqliteWriter& writer);
  Result<> start(std::shared_ptr<SqliteWriter> writer, const DatabaseOptions& database);

  void publish(std::vector<CommittedChanges> changes);
  void lose(const std::string& why);
  Result<> check_not_lost() const;
  template <class Work>
  auto read(Work work) -> Task<decltype(work(std::declval<SqliteReader&>()))>;

  runtime::Runtime& runtime_;
  SqliteOptions options_;
  ChangeLog log_;  // its head is the current revision
  Revision compacted_;
  std::string lost_;
  runtime::Signal changed_;
  static constexpr std::size_t kReaders = 2;
  runtime::Channel<std::shared_ptr<SqliteReader>> idle_readers_{kReaders};
  std::shared_ptr<GroupCommit> commits_;
};

}  // namespace fairlead::store
