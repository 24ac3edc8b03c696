// Whole Ethernet frames on one interface: AF_PACKET on the loop. Needs CAP_NET_RAW.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "foundation/runtime/epoll_loop.h"
#include "foundation/runtime/stream.h"

namespace fairlead::runtime {

class EpollPacketSocket final : public PacketSocket {
 public:
  static Result<std::unique_ptr<PacketSocket>> open(EpollLoop& loop, const std::string& interface,
                                                    std::uint16_t ethertype);
  EpollPacketSocket(EpollLoop& loop, int fd, std::string interface)
      : descriptor_(loop, fd), interface_(std::move(interface)) {}

  Task<Result<std::string>> receive() override;
  Task<Result<>> send(std::string_view frame) override;
  void close() override { descriptor_.close(); }

 private:
  Descriptor descriptor_;
  std::string interface_;
  std::string buffer_;  // made at the first receive
};

}  // namespace fairlead::runtime
