// The compiled kernel programs (datapath.bpf.c), carried inside this binary.
#pragma once

#include <span>

namespace fairlead::fabric::vxlan {

std::span<const char> datapath_object();

}  // namespace fairlead::fabric::vxlan
