#include "api/store/sqlite/schema.h"

#include <gtest/gtest.h>

#include <vector>

#include "api/store/temporary_directory.h"

namespace fairlead::store {
namespace {

class SqliteSchema : public testing::Test {
 protected:
  Database open() {
    Result<Database> database = Database::open({.path = directory_.path() + "/x.db"});
    CHECK(database);
    return std::move(*database);
  }
  TemporaryDirectory directory_;
};

// A new database gets the present format; opening it again changes nothing.
TEST_F(SqliteSchema, CreatesThePresentFormatOnce) {
  Database database = open();
  ASSERT_TRUE(migrate(database, sqlite_migrations()));
  EXPECT_EQ(read_meta(database, "format"), sqlite_migrations().back().to);
  ASSERT_TRUE(write_meta(database, "head", 42));
  ASSERT_TRUE(migrate(database, sqlite_migrations()));
  EXPECT_EQ(read_meta(database, "head"), 42);
}

// An older database is brought forward step by step, keeping what is in it.
TEST_F(SqliteSchema, MigratesStepByStep) {
  Database database = open();
  ASSERT_TRUE(migrate(database, sqlite_migrations()));
  ASSERT_TRUE(write_meta(database, "head", 42));
  const int present = sqlite_migrations().back().to;
  std::vector<Migration> longer(sqlite_migrations().begin(), sqlite_migrations().end());
  longer.push_back({present + 1, "ALTER TABLE meta ADD COLUMN note TEXT"});
  longer.push_back({present + 2, "UPDATE meta SET note = 'seen'"});
  ASSERT_TRUE(migrate(database, longer));
  EXPECT_EQ(read_meta(database, "format"), present + 2);
  EXPECT_EQ(read_meta(database, "head"), 42);
  EXPECT_EQ(database.query_text("SELECT note FROM meta WHERE name = 'head'"), "seen");
}

// A migration that fails leaves the database as it was before that step.
TEST_F(SqliteSchema, AFailedMigrationIsUndone) {
  Database database = open();
  ASSERT_TRUE(migrate(database, sqlite_migrations()));
  const int present = sqlite_migrations().back().to;
  std::vector<Migration> longer(sqlite_migrations().begin(), sqlite_migrations().end());
  longer.push_back({present + 1, "DROP TABLE changes; SELECT nonsense"});
  const Result<> migrated = migrate(database, longer);
  ASSERT_FALSE(migrated);
  EXPECT_TRUE(
      migrated.error().message.starts_with("migration to format " + std::to_string(present + 1)));
  EXPECT_EQ(read_meta(database, "format"), present);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM changes"), 0);
}

// A database of a later program is refused in words that say what to do.
TEST_F(SqliteSchema, RefusesNewerFormats) {
  Database database = open();
  ASSERT_TRUE(migrate(database, sqlite_migrations()));
  ASSERT_TRUE(write_meta(database, "format", 99));
  const Result<> migrated = migrate(database, sqlite_migrations());
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, Code::unsupported);
  EXPECT_TRUE(migrated.error().message.contains("format 99, written by a newer fairlead"));
}

// Somebody else's database is left alone.
TEST_F(SqliteSchema, RefusesForeignDatabases) {
  Database database = open();
  ASSERT_TRUE(database.execute("CREATE TABLE recipes(name TEXT)"));
  EXPECT_EQ(migrate(database, sqlite_migrations()).error().code, Code::corrupt);
}

}  // namespace
}  // namespace fairlead::store
