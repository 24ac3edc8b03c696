// The verbs of requests as bits, so that a right names several.
#pragma once

#include <cstdint>

namespace fairlead::resource {

using Verbs = std::uint32_t;
enum : Verbs {
  kGet = 1,
  kList = 2,
  kWatch = 4,
  kCreate = 8,
  kUpdate = 16,
  kPatch = 32,
  kDelete = 64,
  kDeleteCollection = 128,
  kOtherVerb = 256,  // impersonate and whatever else: admins only
};
inline constexpr Verbs kRead = kGet | kList | kWatch;
inline constexpr Verbs kModify = kUpdate | kPatch;
inline constexpr Verbs kWrite = kCreate | kModify | kDelete | kDeleteCollection;

}  // namespace fairlead::resource
