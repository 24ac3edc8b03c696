// The allocator of nghttp2 sessions. Internal to http/.
//
// A session allocates 16 KiB for the largest possible frame and uses a few hundred bytes of it,
// because bodies are not copied there. Allocations of that size are mapped instead of taken from
// the heap: untouched pages of a mapping cost no memory, reused heap pages do. With a thousand idle
// connections this saves a quarter of their memory.
#pragma once

#include <nghttp2/nghttp2.h>

namespace fairlead::http {

// The same for every session; safe to use from several threads.
nghttp2_mem* session_memory();

}  // namespace fairlead::http
