// What a service manager is told arrives on its socket, a real one.
#include "foundation/runtime/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace fairlead::runtime {
namespace {

// A manager that listens at a path or, with '@', at an abstract name.
class Manager {
 public:
  explicit Manager(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  ~Manager() { ::close(fd_); }
  std::string next() {
    char bytes[512];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    return n < 0 ? "nothing" : std::string(bytes, static_cast<std::size_t>(n));
  }

 private:
  int fd_;
};

TEST(ServiceManager, IsToldByDatagrams) {
  const std::string unique = std::to_string(::getpid());
  const std::string path = testing::TempDir() + "notify-" + unique;
  for (const std::string& name : {path, "@fairlead-notify-" + unique}) {
    SCOPED_TRACE(name);
    Manager manager(name);
    const ServiceManager told(name);
    EXPECT_TRUE(told.present());
    EXPECT_TRUE(told.ready("serving\nhere"));
    EXPECT_EQ(manager.next(), "READY=1\nSTATUS=serving here\n");
    EXPECT_TRUE(told.stopping("signal 15"));
    EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=signal 15\n");
    EXPECT_EQ(manager.next(), "nothing");
  }
  ::unlink(path.c_str());
}

// Nobody to tell is no failure; a socket that cannot be one, or is gone, is.
TEST(ServiceManager, MayBeAbsent) {
  EXPECT_FALSE(ServiceManager("").present());
  EXPECT_TRUE(ServiceManager("").ready("x"));
  EXPECT_FALSE(ServiceManager("/nonexistent/notify").ready("x"));
  EXPECT_FALSE(ServiceManager("relative").ready("x"));
  EXPECT_FALSE(ServiceManager("/" + std::string(200, 'x')).ready("x"));
}

}  // namespace
}  // namespace fairlead::runtime
