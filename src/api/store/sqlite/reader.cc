#include "api/store/sqlite/reader.h"

#include <utility>

#include <fmt/format.h>

#include "api/store/change_log.h"
#include "api/store/transaction.h"

namespace fairlead::store {
namespace {

std::int64_t number(Place place) { return static_cast<std::int64_t>(place.number()); }
Place place_of(std::int64_t number) {
  return Place::from_number(static_cast<std::uint64_t>(number));
}

}  // namespace

Result<SqliteReader> SqliteReader::open(const DatabaseOptions& options) {
  FL_TRY(Database database, Database::open(options));
  FL_CHECKED(database.execute("PRAGMA cache_size = -2048; PRAGMA query_only = ON;"));
  SqliteReader reader(std::move(database));
  FL_CHECKED(reader.prepare());
  return reader;
}

Result<> SqliteReader::prepare() {
  FL_TRY(begin_, database_.prepare("BEGIN"));
  FL_TRY(end_, database_.prepare("COMMIT"));
  FL_TRY(compacted_, database_.prepare("SELECT value FROM meta WHERE name = 'compacted'"));
  FL_TRY(version_, database_.prepare("SELECT place, created FROM versions "
                                     "WHERE key = ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1"));
  FL_TRY(value_, database_.prepare("SELECT value FROM changes WHERE place = ?1"));
  FL_TRY(next_versions_, database_.prepare("SELECT key, place, created FROM versions "
                                           "WHERE (key, place) > (?1, ?2) ORDER BY key, place"));
  FL_TRY(changes_, database_.prepare("SELECT place, key, created, value FROM changes "
                                     "WHERE place > ?1 AND place <= ?2 ORDER BY place"));
  return {};
}

template <class Work>
auto SqliteReader::in_snapshot(Work work) -> decltype(work()) {
  FL_CHECKED(Rows(begin_).finish());
  auto result = work();
  const Result<> ended = Rows(end_).finish();
  if (result && !ended) return fail(ended.error());
  return result;
}

Result<> SqliteReader::check_not_compacted(Revision oldest_needed) {
  Rows rows(compacted_);
  FL_TRY(const bool row, rows.next());
  if (!row) return fail(Code::corrupt, "meta has no compacted");
  if (oldest_needed < rows.integer(0))
    return fail(Code::gone, fmt::format("revision {} was compacted", oldest_needed));
  return {};
}

Result<std::optional<KeyValue>> SqliteReader::get(std::string_view key, Revision at) {
  return in_snapshot([&]() -> Result<std::optional<KeyValue>> {
    FL_CHECKED(check_not_compacted(at));
    FL_TRY(const std::optional<Version> found, version(key, at));
    if (!found) return std::nullopt;
    FL_TRY(KeyValue item, load(key, *found));
    return item;
  });
}

Result<std::optional<SqliteReader::Version>> SqliteReader::version(std::string_view key,
                                                                   Revision at) {
  Rows rows(version_);
  rows.bind(1, key).bind(2, number(Place::end_of(at)));
  FL_TRY(const bool row, rows.next());
  if (!row || rows.integer(1) == 0) return std::nullopt;
  return Version{.place = place_of(rows.integer(0)), .created = rows.integer(1)};
}

Result<KeyValue> SqliteReader::load(std::string_view key, const Version& version) {
  Rows rows(value_);
  rows.bind(1, number(version.place));
  FL_TRY(const bool row, rows.next());
  if (!row)
    return fail(Code::corrupt, fmt::format("{} has no value at revision {}", printable(key),
                                           version.place.revision));
  return KeyValue{.key = std::string(key),
                  .value = Bytes(std::string(rows.bytes(0))),
                  .modified = version.place,
                  .created = version.created};
}

Result<Listing> SqliteReader::list(std::string_view prefix, Revision at, std::string_view after,
                                   std::size_t limit) {
  return in_snapshot([&]() -> Result<Listing> {
    FL_CHECKED(check_not_compacted(at));
    return scan(prefix, at, after, limit);
  });
}

// Goes through the keys of a prefix in order and finds for each its version as of a revision. A key
// with a long history is stepped over with a seek instead of being walked through.
class SqliteReader::KeyWalk {
 public:
  KeyWalk(SqliteReader& reader, std::string_view prefix, Revision at, std::string_view after)
      : reader_(reader), prefix_(prefix), at_(at), last_place_(number(Place::end_of(at))) {
    const bool resume = !after.empty() && after >= prefix;
    // Places are positive, so (prefix, 0) lies before every version of a key equal to the prefix.
    seek_key_ = resume ? after : prefix;
    rows_.bind(1, seek_key_).bind(2, resume ? kBehindEveryPlace : 0);
  }

  // Moves on to the next key that exists as of the revision; false: there is none.
  Result<bool> next() {
    if (!std::exchange(started_, true)) {
      FL_CHECKED(advance());
    }
    while (inside_) {
      FL_TRY(const std::optional<Version> found, find_version());
      if (!found || found->created == 0) continue;
      version_ = *found;
      return true;
    }
    return false;
  }
  const std::string& key() const { return key_; }
  const Version& version() const { return version_; }

 private:
  static constexpr int kWalkAtMost = 16;
  static constexpr std::int64_t kBehindEveryPlace = INT64_MAX;

  Result<> advance() {
    FL_TRY(const bool row, rows_.next());
    inside_ = row && rows_.bytes(0).starts_with(prefix_);
    return {};
  }
  Result<> skip_key() {
    rows_.restart();
    seek_key_ = key_;
    rows_.bind(1, seek_key_).bind(2, kBehindEveryPlace);
    return advance();
  }
  // REQUIRES: the cursor is at the first version of a key. Leaves it at that of the next key.
  Result<std::optional<Version>> find_version() {
    key_ = rows_.bytes(0);
    std::optional<Version> found;
    for (int walked = 0; inside_ && rows_.bytes(0) == key_; ++walked) {
      if (rows_.integer(1) > last_place_) {
        FL_CHECKED(skip_key());
        break;
      }
      if (walked == kWalkAtMost) {
        FL_TRY(found, reader_.version(key_, at_));
        FL_CHECKED(skip_key());
        break;
      }
      found = Version{.place = place_of(rows_.integer(1)), .created = rows_.integer(2)};
      FL_CHECKED(advance());
    }
    return found;
  }

  SqliteReader& reader_;
  std::string_view prefix_;
  Revision at_;
  std::int64_t last_place_;
  std::string seek_key_;
  Rows rows_{reader_.next_versions_};
  bool started_ = false;
  bool inside_ = false;
  std::string key_;
  Version version_;
};

Result<Listing> SqliteReader::scan(std::string_view prefix, Revision at, std::string_view after,
                                   std::size_t limit) {
  Listing listing{.revision = at, .items = {}, .more = false};
  KeyWalk walk(*this, prefix, at, after);
  for (;;) {
    FL_TRY(const bool found, walk.next());
    if (!found) break;
    if (limit != 0 && listing.items.size() == limit) {
      listing.more = true;
      break;
    }
    FL_TRY(KeyValue item, load(walk.key(), walk.version()));
    listing.items.push_back(std::move(item));
  }
  return listing;
}

Result<ChangeBatch> SqliteReader::changes(std::string_view prefix, Revision after, Revision upto) {
  return in_snapshot([&]() -> Result<ChangeBatch> {
    // The changes of revision after + 1 on are needed; those are kept from `compacted` on.
    FL_CHECKED(check_not_compacted(after + 1));
    return read_changes(prefix, after, upto);
  });
}

Result<ChangeBatch> SqliteReader::read_changes(std::string_view prefix, Revision after,
                                               Revision upto) {
  constexpr std::size_t kMostBytes = 4 << 20;
  constexpr std::size_t kMostVisited = 16 * ChangeLog::kBatchChanges;
  ChangeBatch batch{.revision = upto, .changes = {}};
  Rows rows(changes_);
  rows.bind(1, number(Place::end_of(after))).bind(2, number(Place::end_of(upto)));
  std::size_t bytes = 0;
  Revision last = after;
  for (std::size_t visited = 0;; ++visited) {
    FL_TRY(const bool row, rows.next());
    if (!row) break;
    const Place place = place_of(rows.integer(0));
    const bool full = batch.changes.size() >= ChangeLog::kBatchChanges || bytes >= kMostBytes ||
                      visited >= kMostVisited;
    if (full && place.revision != last) {
      batch.revision = last;
      break;
    }
    last = place.revision;
    if (!rows.bytes(1).starts_with(prefix)) continue;
    Change change{.current = {.key = std::string(rows.bytes(1)),
                              .value = {},
                              .modified = place,
                              .created = rows.integer(2)},
                  .erased = rows.integer(2) == 0};
    if (!change.erased) change.current.value = Bytes(std::string(rows.bytes(3)));
    bytes += footprint(change);
    batch.changes.push_back(std::move(change));
  }
  return batch;
}

}  // namespace fairlead::store
