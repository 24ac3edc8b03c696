#include "features/vip/fence/pins.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "foundation/runtime/network_namespace.h"

namespace fairlead::vip {
namespace {

constexpr const char* kUsual = "/sys/fs/bpf";
// Processes of the host's mount namespace. The second, a thread of the kernel, is there whatever
// the first one is.
constexpr const char* kHostMounts[] = {"/proc/1/ns/mnt", "/proc/2/ns/mnt"};
// The inodes of the namespaces that the kernel starts with are fixed (linux/proc_ns.h).
constexpr ino_t kFirstProcessNamespace = 0xEFFFFFFC;
constexpr ino_t kFirstTimeNamespace = 0xEFFFFFFA;

bool is_bpf_file_system(int fd) {
  struct statfs facts{};
  return ::fstatfs(fd, &facts) == 0 &&
         static_cast<std::uint32_t>(facts.f_type) == static_cast<std::uint32_t>(BPF_FS_MAGIC);
}

// Async-signal-safe.
int open_folder(const char* path) { return ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }

bool in_namespace(const char* which, ino_t inode) {
  struct stat facts{};
  return ::stat((std::string("/proc/self/ns/") + which).c_str(), &facts) == 0 &&
         facts.st_ino == inode;
}

// What the child of open_in_mount_namespace does: system calls only. Returns a descriptor or
// -errno.
int enter_and_open(int mounts) {
  if (::setns(mounts, CLONE_NEWNS) != 0) return -errno;
  int root = open_folder(kUsual);
  if (root < 0) return -errno;
  if (is_bpf_file_system(root)) return root;
  ::close(root);
  if (::mount("bpf", kUsual, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") != 0)
    return -errno;
  root = open_folder(kUsual);
  return root < 0 ? -errno : root;
}

// Opens the BPF file system of another mount namespace, in a child that shares our descriptors,
// because entering a mount namespace is for processes without threads.
Result<Descriptor> open_in_mount_namespace(const Descriptor& mounts) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error("open a pipe"));
  const Descriptor reading(ends[0]);
  const Descriptor writing(ends[1]);
  // Without a signal at its end, so that nobody else who waits for children sees it.
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0));
  if (child < 0) return fail(errno_error("start a process"));
  if (child == 0) {
    const int opened = enter_and_open(mounts.get());
    ::_exit(::write(ends[1], &opened, sizeof(opened)) == sizeof(opened) ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, __WALL) < 0 && errno == EINTR) {
  }
  int opened = -EIO;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
      ::read(ends[0], &opened, sizeof(opened)) != sizeof(opened))
    opened = -EIO;
  if (opened >= 0) return Descriptor(opened);
  Error error = errno_error("open or mount /sys/fs/bpf of the host", -opened);
  if (opened == -EPERM) error.message += ": needs root, or CAP_SYS_ADMIN and CAP_SYS_PTRACE";
  return fail(error);
}

Descriptor open_host_mounts() {
  if (!in_namespace("pid", kFirstProcessNamespace)) return {};
  for (const char* path : kHostMounts)
    if (Descriptor mounts(::open(path, O_RDONLY | O_CLOEXEC)); mounts) return mounts;
  return {};
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

Result<BpfFileSystem> BpfFileSystem::find(const std::string& path) {
  if (!path.empty()) {
    Descriptor named(open_folder(path.c_str()));
    if (named && is_bpf_file_system(named.get())) return BpfFileSystem(std::move(named));
    return fail(Code::unsupported, path + " is not a BPF file system");
  }
  if (const Descriptor mounts = open_host_mounts(); mounts) {
    FL_TRY(Descriptor root, open_in_mount_namespace(mounts));
    return BpfFileSystem(std::move(root));
  }
  Descriptor here(open_folder(kUsual));
  if (!here || !is_bpf_file_system(here.get()))
    return fail(Code::unsupported,
                "no BPF file system at /sys/fs/bpf: mount it on the host (mount -t bpf bpf "
                "/sys/fs/bpf) and, for a container, into it with mount propagation");
  if (!is_propagated(kUsual))
    return fail(Code::unsupported,
                "the BPF file system at /sys/fs/bpf belongs to this container alone and would "
                "vanish with it: use the host's process namespace, or mount the host's /sys/fs/bpf "
                "with mount propagation (HostToContainer), or name its path");
  return BpfFileSystem(std::move(here));
}

Result<std::string> BpfFileSystem::fence_folder() const {
  FL_TRY(const std::uint64_t cookie, runtime::network_namespace_cookie());
  return "/proc/self/fd/" + std::to_string(root_.get()) + "/fairlead/vip-" + std::to_string(cookie);
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
