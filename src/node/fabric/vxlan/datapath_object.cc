#include "node/fabric/vxlan/datapath_object.h"

// FL_DATAPATH_OBJECT is the path of the object file, from the build.
asm(".section .rodata.fl_datapath,\"a\"\n"
    ".balign 8\n"
    "fl_datapath_begin:\n"
    ".incbin \"" FL_DATAPATH_OBJECT
    "\"\n"
    "fl_datapath_end:\n"
    ".previous\n");

extern "C" {
extern const char fl_datapath_begin[];
extern const char fl_datapath_end[];
}

namespace fairlead::fabric::vxlan {

std::span<const char> datapath_object() { return {fl_datapath_begin, fl_datapath_end}; }

}  // namespace fairlead::fabric::vxlan
