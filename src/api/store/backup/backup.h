// Backup and restore, for every store, in one format (format.h).
//
//   back_up        any Store → file, while it serves: pages of one revision, so it is consistent
//   verify_backup  reads a file to its end and checks it
//   restore_sqlite file → a new SqliteStore folder; objects keep their resourceVersions
//   load_backup    file → any empty Store, by transactions; objects get new resourceVersions
//
// A restored store continues at a revision far beyond that of the backup (restored_revision.h),
// with everything before compacted: clients have seen revisions that the backup knows nothing of,
// and must not mistake new changes for those. They get 410 Gone once and list again. To load a
// backup into an EtcdStore, open it with that revision as EtcdOptions::seen.
#pragma once

#include <string>

#include "api/store/backup/format.h"
#include "api/store/store.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/task.h"

namespace fairlead::store {

// Replaces a file of that name only when the new one is complete and on disk.
Task<Result<BackupSummary>> back_up(runtime::Runtime& runtime, Store& store, std::string path);

Result<BackupSummary> verify_backup(const std::string& path);

// Fails with already_exists if the folder holds a database, with unavailable if a server uses it.
// Verifies first; a restore that fails or is killed leaves no database behind.
Result<BackupSummary> restore_sqlite(const std::string& path, const std::string& directory,
                                     WallTime now);

// Fails with already_exists if the store holds anything. Verifies first; a load that fails on the
// way leaves the store partly filled, to be cleared before it is tried again.
Task<Result<BackupSummary>> load_backup(runtime::Runtime& runtime, Store& store, std::string path);

}  // namespace fairlead::store
