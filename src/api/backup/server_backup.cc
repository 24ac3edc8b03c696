#include "api/backup/server_backup.h"

#include <filesystem>
#include <utility>

#include "api/backup/backup_download.h"
#include "api/store/backup/backup.h"
#include "api/store/data_directory.h"
#include "api/store/restored_revision.h"

namespace fairlead::backup {
namespace {

using Kind = store::StoreChoice::Kind;

bool has_database(const store::StoreChoice& store) {
  std::error_code error;
  return std::filesystem::exists(store::DataDirectory::database_in(store.location), error);
}

// What a running server holds the lock of.
const std::string& locked_folder(const ServerStore& server) {
  return server.store.kind == Kind::sqlite ? server.store.location : server.data;
}

// Opening makes what is missing; a backup of a folder that was mistyped must not.
Result<> check_there_is_something(const ServerStore& server) {
  std::error_code error;
  for (const std::string& folder : {server.data, locked_folder(server)})
    if (!std::filesystem::is_directory(folder, error))
      return fail(Code::not_found, folder + ": there is no such folder (--data, --store)");
  return {};
}

Task<Result<store::BackupSummary>> back_up_directly(runtime::Runtime& runtime,
                                                    store::OpenedStore& opened, std::string file) {
  Result<store::BackupSummary> summary =
      co_await store::back_up(runtime, *opened.store, std::move(file));
  co_await opened.close();
  co_return summary;
}

Task<Result<store::BackupSummary>> load(runtime::Runtime& runtime, store::OpenedStore& opened,
                                        std::string file) {
  Result<store::BackupSummary> summary =
      co_await store::load_backup(runtime, *opened.store, std::move(file));
  co_await opened.close();
  co_return summary;
}

}  // namespace

Task<Result<store::BackupSummary>> back_up(runtime::Runtime& runtime, ServerStore from,
                                           std::string file) {
  FL_CO_CHECKED(check_there_is_something(from));
  {
    // Whoever holds the folder is the server, and the server then makes the backup.
    const Result<store::DataDirectory> free = store::DataDirectory::open(locked_folder(from));
    if (!free && free.error().code != Code::unavailable) co_return fail(free.error());
    if (!free) co_return co_await backup::download_backup(runtime, from.data, std::move(file));
  }
  if (from.store.kind == Kind::memory)
    co_return fail(Code::not_found, "--store memory: no server runs on " + from.data +
                                        ", so there is nothing to back up");
  if (from.store.kind == Kind::sqlite && !has_database(from.store))
    co_return fail(Code::not_found, from.store.location +
                                        " holds no database, and no server runs on it (a server "
                                        "with another --store: give that flag here too)");
  FL_CO_TRY(store::OpenedStore opened, from.open(0));
  co_return co_await back_up_directly(runtime, opened, std::move(file));
}

Task<Result<store::BackupSummary>> restore(runtime::Runtime& runtime, ServerStore into,
                                           std::string file) {
  if (into.store.kind == Kind::memory)
    co_return fail(Code::invalid, "--store memory: nothing would be left of what is restored");
  // Before anything is made: a wrong file changes nothing.
  FL_CO_TRY(const store::BackupSummary summary, store::verify_backup(file));
  const WallTime now = runtime.wall_now();
  if (into.store.kind == Kind::sqlite)
    co_return store::restore_sqlite(file, into.store.location, now);
  const store::Revision seen = store::restored_revision(summary.revision, now);
  FL_CO_TRY(store::OpenedStore opened, into.open(seen));
  co_return co_await load(runtime, opened, std::move(file));
}

}  // namespace fairlead::backup
