#include "program/resident_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace fairlead::program {
namespace {

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
  ::malloc_trim(0);
  for (const Range& range : code_of_files())
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the addresses were text
    ::madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, MADV_DONTNEED);
}

}  // namespace fairlead::program
