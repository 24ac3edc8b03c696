// Files on the real disk.
#pragma once

#include "foundation/runtime/runtime.h"

namespace fairlead::runtime {

class DiskFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) override;
  Result<> write_atomically(const std::string& path, std::string_view bytes, int mode) override;
  Result<> remove(const std::string& path) override;
  Result<> make_directories(const std::string& path, int mode) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
};

}  // namespace fairlead::runtime
