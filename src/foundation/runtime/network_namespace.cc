#include "foundation/runtime/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::runtime {
namespace {

Error failure(const std::string& name, int error_number) {
  const Code code = error_number == ENOENT ? Code::not_found : Code::invalid;
  return {code, "network namespace " + name + ": " + std::strerror(error_number)};
}

}  // namespace

Result<NetworkNamespaceVisit> NetworkNamespaceVisit::enter(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos)
    return fail(Code::invalid, "network namespace \"" + name + "\": must be a name");
  const int home = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0) return fail(failure("of this process", errno));
  NetworkNamespaceVisit visit(home);
  const int there = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (there < 0) return fail(failure(name, errno));
  const int entered = ::setns(there, CLONE_NEWNET);
  const int error_number = errno;
  ::close(there);
  if (entered != 0) return fail(failure(name, error_number));
  return visit;
}

NetworkNamespaceVisit::NetworkNamespaceVisit(NetworkNamespaceVisit&& other) noexcept
    : home_(std::exchange(other.home_, -1)) {}

NetworkNamespaceVisit::~NetworkNamespaceVisit() {
  if (home_ < 0) return;
  CHECK(::setns(home_, CLONE_NEWNET) == 0);
  ::close(home_);
}

Result<std::uint64_t> network_namespace_cookie() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail(errno_error("open a socket"));
  std::uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  const int got = ::getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size);
  const int error_number = errno;
  ::close(socket);
  if (got == 0) return cookie;
  if (error_number == ENOPROTOOPT)
    return fail(Code::unsupported, "this kernel does not number network namespaces (before 5.14)");
  return fail(errno_error("read the number of the network namespace", error_number));
}

}  // namespace fairlead::runtime
