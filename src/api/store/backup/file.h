// Backups as files: written piece by piece without ever being half there under their name, and read
// piece by piece without ever being whole in memory. Synchronous: off the loop, or in commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/store/backup/format.h"
#include "foundation/base/result.h"

namespace fairlead::store {

// Writes NAME.partial; commit() syncs it and gives it its name. Without commit() it is removed.
class BackupFile {
 public:
  static Result<BackupFile> create(const std::string& path);
  BackupFile(BackupFile&& other) noexcept;
  BackupFile& operator=(BackupFile&&) = delete;
  ~BackupFile();
  Result<> append(std::string_view bytes);
  Result<> commit();

 private:
  BackupFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string partial() const { return path_ + ".partial"; }
  std::string path_;
  int file_;
};

// A backup file being read.
class BackupReader {
 public:
  static Result<BackupReader> open(const std::string& path);
  BackupReader(BackupReader&& other) noexcept;
  BackupReader& operator=(BackupReader&&) = delete;
  ~BackupReader();
  // The next item; nothing at the end of a complete and correct backup.
  Result<std::optional<KeyValue>> next();
  // REQUIRES: next() gave nothing.
  BackupSummary summary() const { return *decoder_.finish(); }

 private:
  BackupReader(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_;
  BackupDecoder decoder_;
};

}  // namespace fairlead::store
