// TemporaryDirectory: a folder for one test, removed with everything in it.
//
// In memory where the system has such a place: the tests make thousands of commits, and syncing
// them all to a disk would take minutes without showing anything more.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "foundation/base/check.h"

namespace fairlead::store {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code error;
    const bool memory = std::filesystem::is_directory("/dev/shm", error);
    const std::filesystem::path base = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    path_ = base / "fairlead-store-XXXXXX";
    CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fairlead::store
