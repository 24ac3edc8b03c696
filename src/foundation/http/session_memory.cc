#include "foundation/http/session_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace fairlead::http {
namespace {

constexpr std::size_t kMappedFrom = 16 << 10;
constexpr std::size_t kPage = 4 << 10;

// Which pieces are mapped, and how large they are.
class Mappings {
 public:
  void* make(std::size_t size) {
    void* const place =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return nullptr;
    const std::lock_guard lock(mutex_);
    sizes_.emplace(place, size);
    return place;
  }
  // 0: it is not one of them. Nearly every other piece is told by its address.
  std::size_t size_of(void* place) {
    if (reinterpret_cast<std::uintptr_t>(place) % kPage != 0) return 0;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(place);
    return found == sizes_.end() ? 0 : found->second;
  }
  void remove(void* place, std::size_t size) {
    {
      const std::lock_guard lock(mutex_);
      sizes_.erase(place);
    }
    ::munmap(place, size);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
};

Mappings& mappings() {
  static Mappings& all = *new Mappings;  // sessions may be the last to go
  return all;
}

void* allocate(std::size_t size, void*) {
  return size < kMappedFrom ? std::malloc(size) : mappings().make(size);
}

void release(void* place, void*) {
  if (!place) return;
  if (const std::size_t mapped = mappings().size_of(place)) return mappings().remove(place, mapped);
  std::free(place);
}

void* allocate_zeroed(std::size_t count, std::size_t size, void*) {
  return std::calloc(count, size);
}

void* reallocate(void* place, std::size_t size, void*) {
  if (!place) return allocate(size, nullptr);
  const std::size_t mapped = mappings().size_of(place);
  if (mapped == 0) return std::realloc(place, size);
  void* const moved = std::malloc(size);
  if (!moved) return nullptr;
  std::memcpy(moved, place, std::min(mapped, size));
  mappings().remove(place, mapped);
  return moved;
}

}  // namespace

nghttp2_mem* session_memory() {
  static nghttp2_mem memory{nullptr, allocate, release, allocate_zeroed, reallocate};
  return &memory;
}

}  // namespace fairlead::http
