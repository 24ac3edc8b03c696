// SimFiles: runtime::Files on a SimDisk, with the same steps as production: temporary file, sync,
// rename, sync of the folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "sim/world/disk.h"

namespace fairlead::sim {

class SimFiles final : public runtime::Files {
 public:
  explicit SimFiles(SimDisk& disk) : disk_(disk) {}
  Result<std::string> read(const std::string& path) override;
  Result<> write_atomically(const std::string& path, std::string_view bytes, int mode) override;
  Result<> remove(const std::string& path) override;
  Result<> make_directories(const std::string& path, int mode) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;

 private:
  SimDisk& disk_;
};

}  // namespace fairlead::sim
