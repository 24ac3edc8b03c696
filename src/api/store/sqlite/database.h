// Database, Statement and Rows: SQLite's C interface as values with owners and Results.
//
// A Database and its statements are used by one thread at a time (not always the same one).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fairlead::store {

class Database;

// A prepared statement; run it with Rows.
class Statement {
 public:
  Statement() = default;

 private:
  friend class Database;
  friend class Rows;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// One execution of a statement. What is bound must live as long as this; columns are valid until
// the next call of next(). Parameters and columns count from 1 and 0, as in SQLite.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(statement.statement_.get()) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows();  // resets the statement, so that no read transaction is left open

  Rows& bind(int parameter, std::int64_t value);
  Rows& bind(int parameter, std::string_view bytes);  // as a BLOB
  Rows& bind_null(int parameter);

  Result<bool> next();  // true: there is a row
  Result<> finish();    // runs a statement that gives no rows

  // Takes the cursor to another place without giving up the transaction that is open around it.
  void restart();

  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;
  bool is_null(int column) const;

 private:
  sqlite3_stmt* statement_;
};

struct DatabaseOptions {
  std::string path;
  std::string vfs;  // empty: SQLite's default
  bool read_only = false;
  bool create = true;
  std::uint64_t max_bytes = 0;  // beyond, inserts fail with exhausted; 0: no limit
};

// How far a copy of the write-ahead log into the database came.
struct Checkpoint {
  int log_pages = 0;
  int copied_pages = 0;
  bool complete() const {
    return log_pages == copied_pages;
  }  // the next commit begins the log anew
};

class Database {
 public:
  static Result<Database> open(const DatabaseOptions& options);

  Result<> execute(const char* sql);
  Result<std::int64_t> query_integer(const char* sql);
  Result<std::string> query_text(const char* sql);
  Result<Statement> prepare(const char* sql);

  bool in_transaction() const;
  // Undoes the open transaction, if SQLite has not done so already.
  Result<> roll_back();

  // Pages in the write-ahead log after the last commit of this connection.
  int wal_pages() const { return *wal_pages_; }
  // Copies what can be copied from the log into the database, waiting for nobody.
  Result<Checkpoint> checkpoint();
  // Copies all of the log and begins it anew; nobody else may have the database open.
  Result<> restart_log();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<int> wal_pages_ = std::make_unique<int>(0);  // its address is known to SQLite
};

}  // namespace fairlead::store
