#include "features/vip/guard/urgency.h"

#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fairlead::vip {
namespace {

// Program text that only the start of the program needed is not locked: what is needed again comes
// back from the page cache when it is touched, and stays.
int forget_text(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's addresses are numbers
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

std::vector<std::string> become_urgent(int priority) {
  std::vector<std::string> lacking;
  const sched_param parameter{.sched_priority = priority};
  if (::sched_setscheduler(0, SCHED_FIFO, &parameter) < 0)
    lacking.push_back(std::string("real-time scheduling (CAP_SYS_NICE): ") + std::strerror(errno));
  ::dl_iterate_phdr(forget_text, nullptr);
  if (::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
    lacking.push_back(std::string("locked memory (CAP_IPC_LOCK): ") + std::strerror(errno));
  return lacking;
}

}  // namespace fairlead::vip
