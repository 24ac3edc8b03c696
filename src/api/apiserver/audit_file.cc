#include "api/apiserver/audit_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/log.h"

namespace fairlead::apiserver {

Result<std::unique_ptr<AuditFile>> AuditFile::open(const std::string& path) {
  if (path == "-") return std::unique_ptr<AuditFile>(new AuditFile(::dup(STDOUT_FILENO), path));
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(errno_error("--audit-log " + path));
  // One that is there already may be readable for others; a pipe or /dev/stderr stays as it is.
  struct stat found{};
  if (::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
      ::fchmod(descriptor, 0600) != 0) {
    const Error error = errno_error("--audit-log " + path + ": change its mode");
    ::close(descriptor);
    return fail(error);
  }
  return std::unique_ptr<AuditFile>(new AuditFile(descriptor, path));
}

AuditFile::~AuditFile() { ::close(descriptor_); }

void AuditFile::append(std::string_view line) {
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    complained_ = false;
  } else if (!std::exchange(complained_, true)) {
    log::error("audit records are being lost",
               {{"file", path_}, {"error", errno_error("write").message}});
  }
}

}  // namespace fairlead::apiserver
