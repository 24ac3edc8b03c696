// NetworkNamespaceVisit: sockets opened while it lives belong to another network namespace (they
// stay there when it ends). For a server that listens in several. Linux keeps the namespace per
// thread: REQUIRES that nothing awaits meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/base/result.h"

namespace fairlead::runtime {

class NetworkNamespaceVisit {
 public:
  // By the name that ip-netns(8) gave it. Fails if there is none or the right to enter is missing.
  static Result<NetworkNamespaceVisit> enter(const std::string& name);
  NetworkNamespaceVisit(NetworkNamespaceVisit&& other) noexcept;
  NetworkNamespaceVisit& operator=(NetworkNamespaceVisit&&) = delete;
  ~NetworkNamespaceVisit();  // back home; CHECKs that this works

 private:
  explicit NetworkNamespaceVisit(int home) : home_(home) {}
  int home_;
};

// The number of this thread's network namespace: never used again until the next boot, unlike the
// namespace's inode. Fails with unsupported on kernels before 5.14.
Result<std::uint64_t> network_namespace_cookie();

}  // namespace fairlead::runtime
