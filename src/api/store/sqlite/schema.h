// The tables of SqliteStore and how older ones become the present ones.
//
//   changes   every change in order of its place (Place::number()): key, value and created (0: an
//             erasure). Only ever appended to; the only table with values in it.
//   versions  the same changes by key: (key, place) → created. The current value of a key is its
//             last version; its value as of a revision is the last version up to that revision.
//   meta      format: the version of this layout
//             head: a lower bound of the current revision, for stores restored from a backup
//             compacted: the oldest revision that can be listed
//             swept: changes up to this place have been compacted for good
//
// A change that was superseded or is an erasure stays until compaction; the others are the state.
#pragma once

#include <span>

#include "api/store/sqlite/database.h"
#include "foundation/base/result.h"

namespace fairlead::store {

// Brings a database from format `to - 1` to `to`.
struct Migration {
  int to;
  const char* sql;
};

// All of them, from the empty database (format 0) to the present.
std::span<const Migration> sqlite_migrations();

// Carries out what is missing, each migration in a transaction of its own. Fails with unsupported
// for a format newer than the last migration, with corrupt for a database of somebody else.
Result<> migrate(Database& database, std::span<const Migration> migrations);

// What a connection needs before anything else; REQUIRES that no transaction is open.
Result<> configure_connection(Database& database);

// Makes this connection refuse to let the database grow beyond `bytes`; 0: no limit.
Result<> limit_size(Database& database, std::uint64_t bytes);

Result<std::int64_t> read_meta(Database& database, const char* name);
Result<> write_meta(Database& database, const char* name, std::int64_t value);

}  // namespace fairlead::store
