#include "foundation/http/session_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace fairlead::http {
namespace {

constexpr std::size_t kFrameBuffer = (16 << 10) + 10;  // what a session keeps for its largest frame
constexpr std::size_t kPage = 4 << 10;

void* allocate(std::size_t size) { return session_memory()->malloc(size, nullptr); }
void release(void* place) { session_memory()->free(place, nullptr); }
void* reallocate(void* place, std::size_t size) {
  return session_memory()->realloc(place, size, nullptr);
}

// How many of the pages of a piece lie in memory; -1 if it is not mapped.
int resident_pages(void* place, std::size_t size) {
  std::vector<unsigned char> pages((size + kPage - 1) / kPage);
  if (::mincore(place, size, pages.data()) != 0) return -1;
  int count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

// A large piece costs only the pages that are touched, and is given back to the kernel.
TEST(SessionMemory, LargePiecesCostWhatIsTouched) {
  void* const place = allocate(kFrameBuffer);
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(resident_pages(place, kFrameBuffer), 0);
  std::memset(place, 'x', 300);
  EXPECT_LT(resident_pages(place, kFrameBuffer), 5);  // not all of it
  release(place);
  EXPECT_EQ(resident_pages(place, kFrameBuffer), -1);
  EXPECT_EQ(errno, ENOMEM);
}

// Pieces keep what they hold when they grow and shrink, across the border between heap and
// mappings.
TEST(SessionMemory, ResizingKeepsTheContent) {
  const std::string text = "what a session wrote";
  for (const std::size_t from : {std::size_t{64}, kFrameBuffer}) {
    for (const std::size_t to : {std::size_t{32}, kFrameBuffer, 4 * kFrameBuffer}) {
      void* const place = allocate(from);
      ASSERT_NE(place, nullptr);
      std::memcpy(place, text.data(), text.size());
      void* const moved = reallocate(place, to);
      ASSERT_NE(moved, nullptr);
      EXPECT_EQ(std::string(static_cast<char*>(moved), text.size()), text) << from << " to " << to;
      std::memset(moved, 'y', to);  // all of it is ours
      release(moved);
    }
  }
  void* const fresh = reallocate(nullptr, kFrameBuffer);
  EXPECT_NE(fresh, nullptr);
  release(fresh);
}

// A piece of the heap that begins a page is told from a mapped one.
TEST(SessionMemory, HeapPiecesOnPageBordersAreOfTheHeap) {
  void* const place = std::aligned_alloc(kPage, kPage);
  std::memset(place, 'z', kPage);
  void* const moved = reallocate(place, 2 * kPage);
  EXPECT_EQ(*static_cast<char*>(moved), 'z');
  release(moved);
  release(nullptr);
}

// Zeroed pieces are zero.
TEST(SessionMemory, Zeroed) {
  auto* const place = static_cast<char*>(session_memory()->calloc(3, kFrameBuffer, nullptr));
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(std::string(place, 3 * kFrameBuffer), std::string(3 * kFrameBuffer, '\0'));
  release(place);
}

}  // namespace
}  // namespace fairlead::http
