// SqliteReader: a connection that only reads. All of it runs off the loop, one call at a time,
// beside the writer.
//
// Every call is told up to which revision to look: a commit that is on disk but not acknowledged
// yet stays invisible, so that nobody sees revisions that revision() does not know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/store/sqlite/database.h"
#include "api/store/store.h"
#include "foundation/base/result.h"

namespace fairlead::store {

class SqliteReader {
 public:
  static Result<SqliteReader> open(const DatabaseOptions& options);

  Result<std::optional<KeyValue>> get(std::string_view key, Revision at);

  // REQUIRES: 0 <= at. Fails with gone if `at` was compacted.
  Result<Listing> list(std::string_view prefix, Revision at, std::string_view after,
                       std::size_t limit);

  // The changes with the prefix in (after, upto], or some of them from the start: whole revisions
  // up to the one the batch names. Fails with gone if they are not all there any more.
  Result<ChangeBatch> changes(std::string_view prefix, Revision after, Revision upto);

 private:
  struct Version {
    Place place;
    Revision created = 0;
  };
  class KeyWalk;
  explicit SqliteReader(Database database) : database_(std::move(database)) {}
  Result<> prepare();

  // Runs `work` in one read transaction: all its statements see the same state.
  template <class Work>
  auto in_snapshot(Work work) -> decltype(work());
  Result<> check_not_compacted(Revision oldest_needed);
  Result<std::optional<Version>> version(std::string_view key, Revision at);
  Result<KeyValue> load(std::string_view key, const Version& version);
  Result<Listing> scan(std::string_view prefix, Revision at, std::string_view after,
                       std::size_t limit);
  Result<ChangeBatch> read_changes(std::string_view prefix, Revision after, Revision upto);

  Database database_;
  Statement begin_, end_, compacted_, version_, value_, next_versions_, changes_;
};

}  // namespace fairlead::store
