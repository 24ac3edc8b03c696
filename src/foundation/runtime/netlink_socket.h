// NetlinkSocket: what the kernel tells everybody about interfaces, addresses and routes
// (rtnetlink), on the loop. It asks for nothing itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "foundation/base/result.h"
#include "foundation/runtime/epoll_loop.h"

namespace fairlead::runtime {

class NetlinkSocket {
 public:
  // Groups are the bits RTMGRP_… of linux/rtnetlink.h. It listens in the network namespace of the
  // calling thread.
  static Result<std::unique_ptr<NetlinkSocket>> open(EpollLoop& loop, std::uint32_t groups);
  NetlinkSocket(EpollLoop& loop, int fd) : descriptor_(loop, fd) {}

  // Messages that the kernel sent together, one behind the other. Fails with exhausted when it said
  // more than there was room for: the world is to be looked at anew, then listening goes on.
  Task<Result<std::string>> receive();

 private:
  Descriptor descriptor_;
  std::string buffer_;
};

}  // namespace fairlead::runtime
