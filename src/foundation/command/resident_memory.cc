#include "foundation/command/resident_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string_view>

// jemalloc, if the program is linked with it (release builds): one heap for all threads, as nearly
// all of the work is done by one; what is free goes back after seconds. The names are the
// library's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {
int mallctl(const char* name, void* old_value, std::size_t* old_size, void* value, std::size_t size)
    __attribute__((weak));
const char* malloc_conf = "narenas:1,dirty_decay_ms:5000,muzzy_decay_ms:0";
}
// NOLINTEND(readability-identifier-naming)

namespace fairlead::command {
namespace {

constexpr const char* kPurgeAllArenas = "arena.4096.purge";

// What is mapped from files and never written to, not even by the loader: code and constants. What
// is dropped of it comes back as the file has it. (What the loader fills in and then makes
// read-only belongs to a part that is writable by its header.)
int drop_unwritten_parts(dl_phdr_info* object, std::size_t, void*) {
  if (std::string_view(object->dlpi_name).starts_with("linux-vdso")) return 0;  // no file
  const auto page = static_cast<std::uintptr_t>(::getpagesize());
  for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_filesz;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's addresses are numbers
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void give_back_memory() {
  if (mallctl) {
    mallctl(kPurgeAllArenas, nullptr, nullptr, nullptr, 0);
  } else {
    ::malloc_trim(0);
  }
  ::dl_iterate_phdr(drop_unwritten_parts, nullptr);
}

}  // namespace fairlead::command
