// FrameSender: sends whole Ethernet frames by any interface, and receives nothing. One socket for
// all interfaces, whatever becomes of them. Needs CAP_NET_RAW.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::runtime {

class FrameSender {
 public:
  // For interfaces of the calling thread's network namespace.
  static Result<FrameSender> open();
  FrameSender(FrameSender&& other) noexcept;
  FrameSender& operator=(FrameSender&&) = delete;
  ~FrameSender();

  // Never waits: fails with unavailable if there is no room at the moment.
  Result<> send(std::uint32_t ifindex, std::string_view frame);

 private:
  explicit FrameSender(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace fairlead::runtime
