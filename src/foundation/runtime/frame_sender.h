// FrameSender: sends whole Ethernet frames by any interface, and receives nothing. One socket for
// all interfaces, whatever becomes of them. Needs CAP_NET_RAW.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::runtime {

class FrameSender {
 public:
  // Frames as they are on the wire, or as FrameTap gives them: preceded by a virtio_net_hdr.
  enum class Form { plain, tapped };
  // For interfaces of the calling thread's network namespace.
  static Result<FrameSender> open(Form form = Form::plain);
  FrameSender(FrameSender&& other) noexcept;
  FrameSender& operator=(FrameSender&&) = delete;
  ~FrameSender();

  // Never waits: fails with unavailable if there is no room at the moment.
  Result<> send(std::uint32_t ifindex, std::string_view frame);

 private:
  FrameSender(int fd, Form form) : fd_(fd), form_(form) {}
  int fd_;
  Form form_;
};

}  // namespace fairlead::runtime
