#include "sim/world/files.h"

namespace fairlead::sim {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::string> SimFiles::read(const std::string& path) {
  FL_TRY(const auto file, disk_.open(path, SimDisk::Open::existing));
  std::string bytes(file->size(), '\0');
  FL_TRY(const std::size_t n, file->read(0, bytes));
  bytes.resize(n);
  return bytes;
}

Result<> SimFiles::write_atomically(const std::string& path, std::string_view bytes, int) {
  const std::string temporary = path + ".tmp";
  {
    FL_TRY(const auto file, disk_.open(temporary, SimDisk::Open::create));
    FL_CHECKED(file->truncate(0));
    FL_CHECKED(file->write(0, bytes));
    FL_CHECKED(file->sync());
  }
  FL_CHECKED(disk_.rename(temporary, path));
  return disk_.sync_directory(parent_of(path));
}

Result<> SimFiles::remove(const std::string& path) {
  FL_CHECKED(disk_.remove(path));
  return disk_.sync_directory(parent_of(path));
}

Result<> SimFiles::make_directories(const std::string& path, int) {
  FL_CHECKED(disk_.make_directories(path));
  return disk_.sync_directory(parent_of(path));
}

Result<std::vector<std::string>> SimFiles::list(const std::string& directory) {
  return disk_.list(directory);
}

}  // namespace fairlead::sim
