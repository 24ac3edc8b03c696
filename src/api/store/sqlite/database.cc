#include "api/store/sqlite/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "foundation/base/check.h"

namespace fairlead::store {
namespace {

constexpr mode_t kPrivate = 0600;  // everything is in it, secrets too

Code code_of(int status) {
  switch (status & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return Code::exhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::unavailable;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Code::forbidden;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return Code::io;
    default:
      return Code::internal;
  }
}

Error error_of(sqlite3* database, int status) {
  const int extended = database ? sqlite3_extended_errcode(database) : status;
  const char* message = database ? sqlite3_errmsg(database) : sqlite3_errstr(status);
  return {code_of(status), fmt::format("sqlite: {} ({})", message, extended)};
}

// Whatever the umask: makes the database, or takes from others what they may do with it.
Result<> keep_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivate);
  if (file < 0) return fail(errno_error("open " + path));
  const int status = ::fchmod(file, kPrivate);
  const Error error = errno_error("change the mode of " + path);
  ::close(file);
  if (status != 0) return fail(error);
  // Those of an earlier process; SQLite gives the ones it makes the mode of the database.
  for (const char* suffix : {"-wal", "-shm", "-journal"})
    if (::chmod((path + suffix).c_str(), kPrivate) != 0 && errno != ENOENT)
      return fail(errno_error("change the mode of " + path + suffix));
  return {};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Rows::~Rows() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Rows& Rows::bind(int parameter, std::int64_t value) {
  CHECK(sqlite3_bind_int64(statement_, parameter, value) == SQLITE_OK);
  return *this;
}

Rows& Rows::bind(int parameter, std::string_view bytes) {
  // A null pointer would bind NULL; no bytes are not no value.
  const char* data = bytes.data() ? bytes.data() : "";
  CHECK(sqlite3_bind_blob64(statement_, parameter, data, bytes.size(), SQLITE_STATIC) == SQLITE_OK);
  return *this;
}

Rows& Rows::bind_null(int parameter) {
  CHECK(sqlite3_bind_null(statement_, parameter) == SQLITE_OK);
  return *this;
}

Result<bool> Rows::next() {
  const int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  return fail(error_of(sqlite3_db_handle(statement_), status));
}

Result<> Rows::finish() {
  FL_TRY(const bool row, next());
  CHECK(!row);
  return {};
}

void Rows::restart() { sqlite3_reset(statement_); }

std::int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Rows::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

bool Rows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const DatabaseOptions& options) {
  if (options.vfs.empty() && options.create && !options.read_only) {
    FL_CHECKED(keep_private(options.path));
  }
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (options.create && !options.read_only) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(options.path.c_str(), &handle, flags,
                                     options.vfs.empty() ? nullptr : options.vfs.c_str());
  Database database(handle);
  if (status != SQLITE_OK)
    return fail(error_of(handle, status).context(fmt::format("open {}", options.path)));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 5'000);
  // Checkpoints are made when it suits the store, not inside somebody's commit.
  sqlite3_wal_hook(
      handle,
      [](void* pages, sqlite3*, const char*, int now) {
        *static_cast<int*>(pages) = now;
        return SQLITE_OK;
      },
      database.wal_pages_.get());
  return database;
}

Result<> Database::execute(const char* sql) {
  const int status = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return fail(error_of(database_.get(), status));
  return {};
}

Result<std::int64_t> Database::query_integer(const char* sql) {
  FL_TRY(Statement statement, prepare(sql));
  Rows rows(statement);
  FL_TRY(const bool row, rows.next());
  return row ? rows.integer(0) : 0;
}

Result<std::string> Database::query_text(const char* sql) {
  FL_TRY(Statement statement, prepare(sql));
  Rows rows(statement);
  FL_TRY(const bool row, rows.next());
  return row ? std::string(rows.bytes(0)) : std::string();
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int status =
      sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (status != SQLITE_OK) return fail(error_of(database_.get(), status).context(sql));
  return Statement(statement);
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

Result<> Database::roll_back() {
  if (!in_transaction()) return {};
  return execute("ROLLBACK");
}

Result<> Database::restart_log() {
  const int status = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_RESTART,
                                               nullptr, nullptr);
  if (status != SQLITE_OK) return fail(error_of(database_.get(), status).context("checkpoint"));
  return {};
}

Result<Checkpoint> Database::checkpoint() {
  Checkpoint outcome;
  const int status = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                               &outcome.log_pages, &outcome.copied_pages);
  if (status == SQLITE_BUSY || status == SQLITE_LOCKED) return Checkpoint{.log_pages = 1};
  if (status != SQLITE_OK) return fail(error_of(database_.get(), status).context("checkpoint"));
  if (outcome.log_pages < 0) return fail(Code::internal, "checkpoint of a database without a log");
  return outcome;
}

}  // namespace fairlead::store
