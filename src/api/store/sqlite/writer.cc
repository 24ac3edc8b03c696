#include "api/store/sqlite/writer.h"

#include <algorithm>
#include <utility>

#include "api/store/sqlite/schema.h"
#include "api/store/transaction.h"

namespace fairlead::store {
namespace {

std::int64_t number(Place place) { return static_cast<std::int64_t>(place.number()); }

// The first place of a revision, as a number.
std::int64_t start_of(Revision revision) { return number({revision, 0}); }

// What a process left in the log whose sync failed can be read back and yet not be on disk, and no
// later sync brings it there (Linux takes such pages for clean). Everything after it would be lost
// with it. So nothing is added to an old log: its changes are written into the database, and the
// log begins anew. A full disk is no reason not to start: what can be read is to be had.
Result<> write_log_anew(Database& database) {
  const Result<> restarted = database.restart_log();
  if (restarted || restarted.error().code == Code::exhausted) return {};
  return restarted;
}

}  // namespace

Result<SqliteWriter> SqliteWriter::open(const DatabaseOptions& options) {
  FL_TRY(Database database, Database::open(options));
  FL_CHECKED(configure_connection(database));
  FL_CHECKED(write_log_anew(database));
  FL_CHECKED(migrate(database, sqlite_migrations()));
  FL_CHECKED(limit_size(database, options.max_bytes));
  SqliteWriter writer(std::move(database));
  FL_CHECKED(writer.prepare());
  return writer;
}

Result<> SqliteWriter::prepare() {
  FL_TRY(begin_, database_.prepare("BEGIN IMMEDIATE"));
  FL_TRY(commit_, database_.prepare("COMMIT"));
  FL_TRY(latest_, database_.prepare("SELECT place, created FROM versions WHERE key = ?1 "
                                    "ORDER BY place DESC LIMIT 1"));
  FL_TRY(insert_change_, database_.prepare("INSERT INTO changes VALUES (?1, ?2, ?3, ?4)"));
  FL_TRY(insert_version_, database_.prepare("INSERT INTO versions VALUES (?1, ?2, ?3)"));
  FL_TRY(to_sweep_, database_.prepare("SELECT place, key, created FROM changes "
                                      "WHERE place > ?1 AND place < ?2 ORDER BY place LIMIT ?3"));
  FL_TRY(delete_changes_,
         database_.prepare("DELETE FROM changes WHERE place IN "
                           "(SELECT place FROM versions WHERE key = ?1 AND place < ?2)"));
  FL_TRY(delete_versions_, database_.prepare("DELETE FROM versions WHERE key = ?1 AND place < ?2"));

  FL_TRY(const std::int64_t known_head, read_meta(database_, "head"));
  FL_TRY(const std::int64_t last, database_.query_integer("SELECT max(place) FROM changes"));
  FL_TRY(compacted_, read_meta(database_, "compacted"));
  FL_TRY(swept_, read_meta(database_, "swept"));
  head_ =
      std::max<Revision>(known_head, Place::from_number(static_cast<std::uint64_t>(last)).revision);
  return {};
}

template <class Work>
Written SqliteWriter::in_transaction(Work work) {
  Result<> done = Rows(begin_).finish();
  if (done) done = work();
  if (!done) {
    const Result<> undone = database_.roll_back();
    if (undone) return {.result = std::move(done), .fatal = {}};
    return {.result = std::move(done), .fatal = undone.error().context("roll back").message};
  }
  done = Rows(commit_).finish();
  if (!done) return {.result = {}, .fatal = done.error().context("commit").message};
  return {};
}

Written SqliteWriter::commit(CommitBatch& batch) {
  Revision head = head_;
  batch.outcomes.reserve(batch.transactions.size());
  Written written = in_transaction([&]() -> Result<> {
    for (Transaction& transaction : batch.transactions) {
      FL_TRY(Result<Committed> outcome, carry_out(transaction, head, batch.changes));
      batch.outcomes.push_back(std::move(outcome));
    }
    return {};
  });
  if (!written.fatal.empty()) return written;
  if (written.result) {
    head_ = head;
  } else {
    batch.changes.clear();
    batch.outcomes.assign(batch.transactions.size(), fail(written.result.error()));
  }
  return written;
}

Result<SqliteWriter::Latest> SqliteWriter::latest(std::string_view key) {
  Rows rows(latest_);
  rows.bind(1, key);
  FL_TRY(const bool row, rows.next());
  if (!row || rows.integer(1) == 0) return Latest{};
  const Place place = Place::from_number(static_cast<std::uint64_t>(rows.integer(0)));
  return Latest{.modified = place.revision, .created = rows.integer(1)};
}

// The outer Result is SQLite's, the inner one the transaction's own.
Result<Result<Committed>> SqliteWriter::carry_out(Transaction& transaction, Revision& head,
                                                  std::vector<CommittedChanges>& changes) {
  std::vector<std::pair<std::string_view, Latest>> known;
  for (const Compare& compare : transaction.compares) {
    FL_TRY(const Latest current, latest(compare.key));
    if (!holds(compare, current.modified))
      return Result<Committed>(fail(conflict_of(compare, current.modified)));
    known.emplace_back(compare.key, current);
  }
  if (transaction.operations.empty()) return Result<Committed>(Committed{head});

  CommittedChanges made{.revision = head + 1, .changes = {}};
  made.changes.reserve(transaction.operations.size());
  for (Operation& operation : transaction.operations) {
    Change change;
    change.erased = operation.kind == Operation::Kind::erase;
    change.current.modified = {made.revision, static_cast<std::uint32_t>(made.changes.size())};
    if (!change.erased) {
      const auto looked_up =
          std::ranges::find(known, operation.key, &std::pair<std::string_view, Latest>::first);
      Latest before;
      if (looked_up != known.end()) {
        before = looked_up->second;
      } else {
        FL_TRY(before, latest(operation.key));
      }
      change.current.created = before.modified == 0 ? made.revision : before.created;
      change.current.value = std::move(operation.value);
    }
    change.current.key = std::move(operation.key);
    FL_CHECKED(insert(change));
    made.changes.push_back(std::move(change));
  }
  head = made.revision;
  changes.push_back(std::move(made));
  return Result<Committed>(Committed{head});
}

Result<> SqliteWriter::insert(const Change& change) {
  const KeyValue& item = change.current;
  const std::int64_t place = number(item.modified);
  Rows inserting_change(insert_change_);
  inserting_change.bind(1, place).bind(2, item.key).bind(3, item.created);
  if (change.erased) {
    inserting_change.bind_null(4);
  } else {
    inserting_change.bind(4, item.value.view());
  }
  FL_CHECKED(inserting_change.finish());
  Rows inserting_version(insert_version_);
  inserting_version.bind(1, item.key).bind(2, place).bind(3, item.created);
  return inserting_version.finish();
}

Written SqliteWriter::set_compacted(Revision before) {
  Written written =
      in_transaction([&]() -> Result<> { return write_meta(database_, "compacted", before); });
  if (written.fatal.empty() && written.result) compacted_ = before;
  return written;
}

Written SqliteWriter::sweep(bool& more) {
  constexpr std::int64_t kStep = 500;
  struct Old {
    std::int64_t place;
    std::string key;
    bool erased;
  };
  std::vector<Old> old;
  std::int64_t swept = swept_;
  Written written = in_transaction([&]() -> Result<> {
    {
      Rows rows(to_sweep_);
      rows.bind(1, swept_).bind(2, start_of(compacted_)).bind(3, kStep);
      for (;;) {
        FL_TRY(const bool row, rows.next());
        if (!row) break;
        old.push_back({rows.integer(0), std::string(rows.bytes(1)), rows.integer(2) == 0});
      }
    }
    // No list can look before these changes any more: what they replaced goes, and so do erasures.
    for (const Old& change : old) {
      FL_CHECKED(forget_versions_before(change.key, change.place, change.erased));
      swept = change.place;
    }
    return write_meta(database_, "swept", swept);
  });
  if (written.fatal.empty() && written.result) swept_ = swept;
  more = old.size() == kStep;
  return written;
}

Result<> SqliteWriter::forget_versions_before(std::string_view key, std::int64_t place,
                                              bool itself) {
  const std::int64_t end = itself ? place + 1 : place;
  Rows changes(delete_changes_);
  changes.bind(1, key).bind(2, end);
  FL_CHECKED(changes.finish());
  Rows versions(delete_versions_);
  versions.bind(1, key).bind(2, end);
  return versions.finish();
}

Written SqliteWriter::import(const std::vector<KeyValue>& items) {
  return in_transaction([&]() -> Result<> {
    for (const KeyValue& item : items) {
      FL_CHECKED(insert({.current = item, .erased = false}));
    }
    return {};
  });
}

Result<> SqliteWriter::check_integrity() {
  FL_TRY(const std::string verdict, database_.query_text("PRAGMA quick_check(1)"));
  if (verdict != "ok") return fail(Code::corrupt, verdict);
  return {};
}

Written SqliteWriter::finish_import(Revision head) {
  Written written = in_transaction([&]() -> Result<> {
    FL_CHECKED(write_meta(database_, "head", head));
    FL_CHECKED(write_meta(database_, "swept", number(Place::end_of(head))));
    return write_meta(database_, "compacted", head);
  });
  if (!written.fatal.empty() || !written.result) return written;
  head_ = compacted_ = head;
  swept_ = number(Place::end_of(head));
  return written;
}

}  // namespace fairlead::store
