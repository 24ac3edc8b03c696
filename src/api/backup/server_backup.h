// Backup and restore of a server's store, from the server's own machine, while it runs or not.
#pragma once

#include <functional>
#include <string>

#include "api/store/backup/format.h"
#include "api/store/opened_store.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::backup {

struct ServerStore {
  std::string data;  // the server's folder
  store::StoreChoice store;
  // Opens that store, and with it the server's folder. `seen`: see EtcdOptions::seen.
  std::function<Result<store::OpenedStore>(store::Revision seen)> open;
};

// The running server makes the backup, if there is one; otherwise it is read from the store. Makes
// nothing but the file.
Task<Result<store::BackupSummary>> back_up(runtime::Runtime& runtime, ServerStore from,
                                           std::string file);

// Fills an empty store. REQUIRES: no server runs on it; otherwise fails with unavailable.
Task<Result<store::BackupSummary>> restore(runtime::Runtime& runtime, ServerStore into,
                                           std::string file);

}  // namespace fairlead::backup
