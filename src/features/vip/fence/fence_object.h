// The compiled kernel programs (fence.bpf.c), carried inside this binary.
#pragma once

#include <span>

namespace fairlead::vip {

std::span<const char> fence_object();

}  // namespace fairlead::vip
