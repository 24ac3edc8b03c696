#include "features/vip/fence/fence_object.h"

// FL_FENCE_OBJECT is the path of the object file, from the build.
asm(".section .rodata.fl_fence,\"a\"\n"
    ".balign 8\n"
    "fl_fence_begin:\n"
    ".incbin \"" FL_FENCE_OBJECT
    "\"\n"
    "fl_fence_end:\n"
    ".previous\n");

extern "C" {
extern const char fl_fence_begin[];
extern const char fl_fence_end[];
}

namespace fairlead::vip {

std::span<const char> fence_object() { return {fl_fence_begin, fl_fence_end}; }

}  // namespace fairlead::vip
