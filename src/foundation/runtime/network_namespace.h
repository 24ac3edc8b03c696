// NetworkNamespaceVisit: sockets opened while it lives belong to another network namespace (they
// stay there when it ends). For a server that listens in several. Linux keeps the namespace per
// thread: REQUIRES that nothing awaits meanwhile.
#pragma once

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

}  // namespace fairlead::runtime
