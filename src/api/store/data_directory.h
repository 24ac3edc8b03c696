// DataDirectory: the folder of a SqliteStore, held by one process at a time.
//
//   fairlead.db (and -wal, -shm)   the database
//   fairlead.lock                  locked by the server that uses it; contains its process id
#pragma once

#include <cstdint>
#include <string>

#include "foundation/base/result.h"

namespace fairlead::store {

class DataDirectory {
 public:
  // Makes the folder if need be and locks it. Fails with unavailable, naming the process, if
  // another one has it.
  static Result<DataDirectory> open(const std::string& path);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  ~DataDirectory();  // unlocks

  std::string database() const { return database_in(path_); }
  static std::string database_in(const std::string& path) { return path + "/fairlead.db"; }

 private:
  DataDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

// Bytes that this process may still write there. An unreadable answer counts as plenty: the write
// itself will tell.
std::uint64_t free_bytes(const std::string& path);

// Makes names in a folder durable.
Result<> sync_directory(const std::string& path);

}  // namespace fairlead::store
