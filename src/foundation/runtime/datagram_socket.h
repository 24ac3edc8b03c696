// UDP on the loop.
#pragma once

#include <memory>
#include <string>

#include "foundation/runtime/epoll_loop.h"
#include "foundation/runtime/stream.h"

namespace fairlead::runtime {

class EpollDatagramSocket final : public DatagramSocket {
 public:
  static Result<std::unique_ptr<DatagramSocket>> open(EpollLoop& loop, const Endpoint& at);
  EpollDatagramSocket(EpollLoop& loop, int fd, int family, Endpoint local);

  Task<Result<Datagram>> receive() override;
  // Fails with invalid when `to` is a name: resolve it first.
  Task<Result<>> send(const Endpoint& to, std::string_view bytes) override;
  Endpoint local() const override { return local_; }
  void close() override { descriptor_.close(); }

 private:
  Descriptor descriptor_;
  int family_;
  Endpoint local_;
  std::string buffer_;  // room for the largest datagram, made at the first receive
};

}  // namespace fairlead::runtime
