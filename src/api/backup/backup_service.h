// GET /fairlead.dev/backup: the state of the store as a backup (api/store/backup/format.h),
// streamed while the server serves. For administrators: nobody else is granted the path.
#pragma once

#include "api/apiserver/api_server.h"

namespace fairlead::backup {

inline constexpr std::string_view kBackupPath = "/fairlead.dev/backup";

class BackupService final : public apiserver::PathHandler {
 public:
  explicit BackupService(store::Store& store) : store_(store) {}
  bool serves(std::string_view path) const override { return path == kBackupPath; }
  bool open_to_all() const override { return false; }
  Task<Result<>> serve(apiserver::Request& request) override;

 private:
  store::Store& store_;
};

}  // namespace fairlead::backup
