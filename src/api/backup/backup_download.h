// A backup made by the running server (backup_service.h) and written to a file here.
#pragma once

#include <string>

#include "api/store/backup/format.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::backup {

// `folder` is the server's, whose admin.kubeconfig is used. The file appears under its name only
// when the backup is complete and its checksum right.
Task<Result<store::BackupSummary>> download_backup(runtime::Runtime& runtime, std::string folder,
                                                   std::string file);

}  // namespace fairlead::backup
