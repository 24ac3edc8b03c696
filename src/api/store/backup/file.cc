#include "api/store/backup/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "api/store/data_directory.h"

namespace fairlead::store {

Result<BackupFile> BackupFile::create(const std::string& path) {
  const std::string partial = path + ".partial";
  // Everything is in it, secrets too. What is left of an earlier attempt may have another mode.
  if (::unlink(partial.c_str()) != 0 && errno != ENOENT)
    return fail(errno_error("remove " + partial));
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return fail(errno_error("create " + partial));
  return BackupFile(path, file);
}

BackupFile::BackupFile(BackupFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

BackupFile::~BackupFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial().c_str());
}

Result<> BackupFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(errno_error("write " + partial()));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<> BackupFile::commit() {
  if (::fsync(file_) != 0) return fail(errno_error("sync " + partial()));
  if (::rename(partial().c_str(), path_.c_str()) != 0) return fail(errno_error("rename " + path_));
  ::close(std::exchange(file_, -1));
  return sync_directory(std::filesystem::absolute(path_).parent_path().string());
}

Result<BackupReader> BackupReader::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(errno_error("open " + path));
  return BackupReader(path, file);
}

BackupReader::BackupReader(BackupReader&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      decoder_(std::move(other.decoder_)) {}

BackupReader::~BackupReader() {
  if (file_ >= 0) ::close(file_);
}

Result<std::optional<KeyValue>> BackupReader::next() {
  std::vector<char> piece;
  for (;;) {
    Result<std::optional<KeyValue>> item = decoder_.next();
    if (!item) return fail(item.error().context(path_));
    if (*item) return item;
    piece.resize(256 << 10);
    const ssize_t got = ::read(file_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("read " + path_));
    if (got == 0) {
      const Result<BackupSummary> whole = decoder_.finish();
      if (!whole) return fail(whole.error().context(path_));
      return std::nullopt;
    }
    decoder_.feed({piece.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace fairlead::store
