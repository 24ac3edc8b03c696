#include "api/store/sqlite/schema.h"

#include <algorithm>

#include <fmt/format.h>

namespace fairlead::store {
namespace {

constexpr Migration kMigrations[] = {
    {1, R"sql(
      CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
      INSERT INTO meta VALUES ('compacted', 0), ('format', 0), ('head', 0), ('swept', 0);
      CREATE TABLE changes(
        place INTEGER PRIMARY KEY, key BLOB NOT NULL, created INTEGER NOT NULL, value BLOB);
      CREATE TABLE versions(
        key BLOB NOT NULL, place INTEGER NOT NULL, created INTEGER NOT NULL,
        PRIMARY KEY (key, place)) WITHOUT ROWID;
    )sql"},
};

Result<int> format_of(Database& database) {
  FL_TRY(const std::int64_t tables, database.query_integer("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0) return 0;
  FL_TRY(const std::int64_t meta,
         database.query_integer(
             "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'"));
  if (meta == 0) return fail(Code::corrupt, "this is not a fairlead database");
  FL_TRY(const std::int64_t format, read_meta(database, "format"));
  return static_cast<int>(format);
}

Result<> carry_out(Database& database, const Migration& migration) {
  FL_CHECKED(database.execute(migration.sql));
  FL_CHECKED(write_meta(database, "format", migration.to));
  return database.execute("COMMIT");
}

}  // namespace

std::span<const Migration> sqlite_migrations() { return kMigrations; }

Result<> migrate(Database& database, std::span<const Migration> migrations) {
  FL_TRY(const int format, format_of(database));
  const int newest = migrations.back().to;
  if (format > newest)
    return fail(
        Code::unsupported,
        fmt::format("the database has format {}, written by a newer fairlead; this one knows "
                    "formats up to {}",
                    format, newest));
  for (const Migration& migration : migrations) {
    if (migration.to <= format) continue;
    FL_CHECKED(database.execute("BEGIN IMMEDIATE"));
    Result<> done = carry_out(database, migration);
    if (!done) {
      FL_CHECKED(database.roll_back());
      return fail(done.error().context(fmt::format("migration to format {}", migration.to)));
    }
  }
  return {};
}

Result<> configure_connection(Database& database) {
  // The page size only matters while the database is empty. synchronous=FULL: a commit is on disk
  // when it is acknowledged. The log keeps its size, because overwriting is cheaper to sync than
  // growing.
  return database.execute(R"sql(
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA cache_size = -4096;
    PRAGMA mmap_size = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA foreign_keys = OFF;
    PRAGMA trusted_schema = OFF;
  )sql");
}

Result<> limit_size(Database& database, std::uint64_t bytes) {
  if (bytes == 0) return {};
  FL_TRY(const std::int64_t page, database.query_integer("PRAGMA page_size"));
  const std::uint64_t pages = std::max<std::uint64_t>(1, bytes / static_cast<std::uint64_t>(page));
  return database.execute(fmt::format("PRAGMA max_page_count = {}", pages).c_str());
}

Result<std::int64_t> read_meta(Database& database, const char* name) {
  FL_TRY(Statement statement,
         database.prepare("SELECT value FROM meta WHERE name = CAST(?1 AS TEXT)"));
  Rows rows(statement);
  rows.bind(1, std::string_view(name));
  FL_TRY(const bool row, rows.next());
  if (!row) return fail(Code::corrupt, fmt::format("meta has no {}", name));
  return rows.integer(0);
}

Result<> write_meta(Database& database, const char* name, std::int64_t value) {
  FL_TRY(Statement statement,
         database.prepare("UPDATE meta SET value = ?2 WHERE name = CAST(?1 AS TEXT)"));
  Rows rows(statement);
  rows.bind(1, std::string_view(name)).bind(2, value);
  return rows.finish();
}

}  // namespace fairlead::store
