// Where nghttp2 sessions get their memory. Internal to http/.
//
// A session keeps 16 KiB for the largest frame there can be, and uses some hundred bytes of them:
// bodies are not copied there. Such pieces are mapped, not taken from the heap, where they would
// lie on pages that others have used: a page that nobody touches costs nothing. With a thousand
// quiet connections that is a quarter of what they need.
#pragma once

#include <nghttp2/nghttp2.h>

namespace fairlead::http {

// The same for every session; safe to use from several threads.
nghttp2_mem* session_memory();

}  // namespace fairlead::http
