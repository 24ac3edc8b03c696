// FrameTap: frames that an interface receives, as they arrive, before traffic control has a say, if
// a filter takes them. Each is preceded by a virtio_net_hdr (kTapHead bytes), so that what the
// kernel has put together can be sent on as it is (FrameSender::Form::tapped). Needs CAP_NET_RAW.
//
// While it is open every frame of the interface passes the filter: for short times only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "foundation/base/result.h"
#include "foundation/runtime/epoll_runtime.h"

struct sock_filter;

namespace fairlead::runtime {

inline constexpr std::size_t kTapHead = 10;  // of linux/virtio_net.h, which C++ does not read

class FrameTap {
 public:
  // From the moment it returns no frame is missed. The filter is of classic BPF and sees Ethernet
  // frames.
  static Result<std::unique_ptr<FrameTap>> open(EpollRuntime& runtime, std::uint32_t ifindex,
                                                std::span<const sock_filter> filter);
  FrameTap(EpollRuntime& runtime, int fd) : runtime_(runtime), descriptor_(runtime.loop(), fd) {}
  // The kernel waits until nobody looks at the socket any more; that is left to another thread.
  ~FrameTap();
  FrameTap(const FrameTap&) = delete;
  FrameTap& operator=(const FrameTap&) = delete;

  Task<Result<std::string>> receive();
  void close() { descriptor_.close(); }

 private:
  EpollRuntime& runtime_;
  Descriptor descriptor_;
  std::string buffer_;
};

}  // namespace fairlead::runtime
