#include "features/vip/fence/pins.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "features/vip/fence/descriptor.h"
#include "foundation/runtime/network_namespace.h"

namespace fairlead::vip {
namespace {

constexpr const char* kUsual = "/sys/fs/bpf";
constexpr const char* kOfFirstProcess = "/proc/1/root/sys/fs/bpf";
// The inodes of the namespaces that the kernel starts with are fixed (linux/proc_ns.h).
constexpr ino_t kFirstProcessNamespace = 0xEFFFFFFC;
constexpr ino_t kFirstTimeNamespace = 0xEFFFFFFA;

bool is_bpf_file_system(const std::string& path) {
  struct statfs facts{};
  return ::statfs(path.c_str(), &facts) == 0 &&
         static_cast<std::uint32_t>(facts.f_type) == static_cast<std::uint32_t>(BPF_FS_MAGIC);
}

bool in_namespace(const char* which, ino_t inode) {
  struct stat facts{};
  return ::stat((std::string("/proc/self/ns/") + which).c_str(), &facts) == 0 &&
         facts.st_ino == inode;
}

// In a child, because entering a mount namespace is for processes without threads. It does nothing
// between fork and _exit that needs more than system calls.
Result<> mount_for_first_process() {
  const Descriptor mounts(::open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!mounts) return fail(errno_error("open /proc/1/ns/mnt"));
  const pid_t child = ::fork();
  if (child < 0) return fail(errno_error("fork"));
  if (child == 0) {
    if (::setns(mounts.get(), CLONE_NEWNS) != 0) ::_exit(errno);
    if (::mount("bpf", kUsual, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") != 0)
      ::_exit(errno);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(errno_error("mount -t bpf bpf /sys/fs/bpf on the host",
                          WIFEXITED(status) ? WEXITSTATUS(status) : EINTR));
}

// Whether a mount got here by propagation from another mount namespace, from /proc/self/mountinfo:
// "36 35 98:0 / /mnt rw master:1 - type source options".
bool is_propagated(const std::string& path) {
  std::ifstream file("/proc/self/mountinfo");
  bool propagated = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, target, options, word;
    words >> id >> parent >> device >> root >> target >> options;
    if (target != path) continue;
    propagated = false;  // the last one covers those before
    while (words >> word && word != "-")
      if (word.starts_with("master:") || word.starts_with("shared:")) propagated = true;
  }
  return propagated;
}

}  // namespace

Result<std::string> find_bpf_file_system(const std::string& path) {
  if (!path.empty()) {
    if (is_bpf_file_system(path)) return path;
    return fail(Code::unsupported, path + " is not a BPF file system");
  }
  if (in_namespace("pid", kFirstProcessNamespace) && ::access(kOfFirstProcess, X_OK) == 0) {
    if (!is_bpf_file_system(kOfFirstProcess)) {
      FL_CHECKED(mount_for_first_process());
    }
    if (is_bpf_file_system(kOfFirstProcess)) return kOfFirstProcess;
  }
  if (!is_bpf_file_system(kUsual))
    return fail(Code::unsupported,
                "no BPF file system at /sys/fs/bpf: mount it on the host (mount -t bpf bpf "
                "/sys/fs/bpf) and, for a container, into it with mount propagation");
  if (!is_propagated(kUsual))
    return fail(Code::unsupported,
                "the BPF file system at /sys/fs/bpf belongs to this container alone and would "
                "vanish with it: use the host's process namespace, or mount the host's /sys/fs/bpf "
                "with mount propagation (HostToContainer), or name its path");
  return kUsual;
}

Result<std::string> pin_folder(const std::string& bpf_file_system) {
  FL_TRY(const std::uint64_t cookie, runtime::network_namespace_cookie());
  return bpf_file_system + "/fairlead/vip-" + std::to_string(cookie);
}

Result<> make_folder(const std::string& folder) {
  for (const std::string& path : {folder.substr(0, folder.rfind('/')), folder})
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(errno_error("create " + path));
  return {};
}

Result<> check_time_namespace() {
  // A kernel without time namespaces has no file either.
  if (::access("/proc/self/ns/time", F_OK) != 0 || in_namespace("time", kFirstTimeNamespace))
    return {};
  std::ifstream file("/proc/self/timens_offsets");
  std::string clock;
  long long seconds = 0;
  long long nanoseconds = 0;
  while (file >> clock >> seconds >> nanoseconds)
    if (clock == "boottime" && (seconds != 0 || nanoseconds != 0))
      return fail(Code::unsupported,
                  "this process is in a time namespace whose boot time is offset by " +
                      std::to_string(seconds) +
                      " s: deadlines would mean other times in the kernel. Run it outside");
  return {};
}

}  // namespace fairlead::vip
