#include "program/resident_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

// jemalloc, if the program is linked with it (release builds): one heap for all threads, as nearly
// all of the work is done by one; what is free goes back after seconds. The names are the
// library's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {
int mallctl(const char* name, void* old_value, std::size_t* old_size, void* value, std::size_t size)
    __attribute__((weak));
const char* malloc_conf = "narenas:1,dirty_decay_ms:5000,muzzy_decay_ms:0";
}
// NOLINTEND(readability-identifier-naming)

namespace fairlead::program {
namespace {

constexpr const char* kPurgeAllArenas = "arena.4096.purge";

struct Range {
  std::uintptr_t begin = 0, end = 0;
};

// Only code: it is never written to, so that what is dropped is what the file has. Read-only data
// may hold what the loader put there.
std::vector<Range> code_of_files() {
  std::vector<Range> ranges;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Range range;
    char rights[5] = {};
    unsigned long inode = 0;
    const int fields = std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &range.begin,
                                   &range.end, rights, &inode);
    if (fields == 4 && inode != 0 && std::string(rights) == "r-xp") ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

void give_back_memory() {
  if (mallctl) {
    mallctl(kPurgeAllArenas, nullptr, nullptr, nullptr, 0);
  } else {
    ::malloc_trim(0);
  }
  for (const Range& range : code_of_files())
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the addresses were text
    ::madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, MADV_DONTNEED);
}

}  // namespace fairlead::program
