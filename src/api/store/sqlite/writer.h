// SqliteWriter: the one connection that changes the database. All of it runs off the loop, one call
// at a time; GroupCommit sees to that.
//
// A COMMIT that fails leaves unknown what is on disk (a later sync that succeeds does not bring
// lost pages back), so such a failure is told apart from all others: it is fatal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/store/sqlite/database.h"
#include "api/store/store.h"
#include "foundation/base/result.h"

namespace fairlead::store {

// What became of something that was written.
struct Written {
  Result<> result;    // of everything that is not fatal: nothing was changed if it failed
  std::string fatal;  // not empty: what is on disk is unknown
};

struct CommittedChanges {
  Revision revision = 0;
  std::vector<Change> changes;
};

// Transactions that share one commit, in order, and what became of each.
struct CommitBatch {
  std::vector<Transaction> transactions;
  std::vector<Result<Committed>> outcomes;  // as many
  std::vector<CommittedChanges> changes;    // of those that changed something, in order
};

class SqliteWriter {
 public:
  // Opens or creates the database, brings it to the present format and reads where it stands.
  static Result<SqliteWriter> open(const DatabaseOptions& options);

  Revision head() const { return head_; }
  Revision compacted() const { return compacted_; }
  int wal_pages() const { return database_.wal_pages(); }

  // Each transaction sees what those before it in the batch did. All of them are on disk together
  // afterwards, or none if this fails (every outcome then says so).
  Written commit(CommitBatch& batch);

  // From now on nothing before `before` can be listed or watched.
  Written set_compacted(Revision before);
  // Removes a part of what nobody can see any more. True in `more` when there is more to do.
  Written sweep(bool& more);

  Result<Checkpoint> checkpoint() { return database_.checkpoint(); }

  // For restoring: puts a value into its place in history without making a new one.
  Written import(const std::vector<KeyValue>& items);
  Written finish_import(Revision head);
  Result<> check_integrity();

 private:
  struct Latest {
    Revision modified = 0;  // 0: does not exist
    Revision created = 0;
  };
  explicit SqliteWriter(Database database) : database_(std::move(database)) {}
  Result<> prepare();

  template <class Work>
  Written in_transaction(Work work);
  Result<Latest> latest(std::string_view key);
  Result<Result<Committed>> carry_out(Transaction& transaction, Revision& head,
                                      std::vector<CommittedChanges>& changes);
  Result<> insert(const Change& change);
  Result<> forget_versions_before(std::string_view key, std::int64_t place, bool itself);

  Database database_;
  Statement begin_, commit_, latest_, insert_change_, insert_version_;
  Statement to_sweep_, delete_changes_, delete_versions_;
  Revision head_ = 0;
  Revision compacted_ = 0;
  std::int64_t swept_ = 0;
};

}  // namespace fairlead::store
