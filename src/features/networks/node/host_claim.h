// HostClaim: one agent of a fabric in a network namespace, whatever node it says it is.
//
// A second one, under another name or with another lock file, would take the interfaces of the
// first for leftovers and remove them, guests' included. All claims are bytes of one file, one byte
// for each network namespace and fabric, so that nothing is left behind; a claim ends with its
// process, however that ends.
#pragma once

#include <string>

#include "foundation/base/result.h"

namespace fairlead::networks {

class HostClaim {
 public:
  // For the network namespace of the calling thread. Fails with unavailable if another process has
  // it: "another agent (pid N) carries fabric ovs on this host".
  static Result<HostClaim> take(const std::string& path, const std::string& fabric);
  HostClaim(HostClaim&& other) noexcept;
  HostClaim& operator=(HostClaim&&) = delete;
  ~HostClaim();

 private:
  explicit HostClaim(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace fairlead::networks
