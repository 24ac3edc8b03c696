// LinkWatch: waits on another thread for the kernel's word that an interface that matters was
// removed, set down, or lost its filter, or that the underlay has another MTU.
//
// wait() blocks and is meant for a blocking thread; everything else may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "foundation/base/result.h"

struct nl_sock;
struct nl_msg;

namespace fairlead::fabric {

class LinkWatch {
 public:
  static Result<std::shared_ptr<LinkWatch>> open();
  ~LinkWatch();

  // The interfaces that matter. One that we remove ourselves is forgotten first.
  void add(std::uint32_t ifindex);
  void forget(std::uint32_t ifindex);
  // What carries the tunnels, and the MTU it is known to have.
  void set_underlay(std::uint32_t ifindex, std::uint32_t mtu);

  // Until something happened (true) or stop() was called (false).
  Result<bool> wait();
  void stop();

 private:
  struct Close {
    void operator()(nl_sock* socket) const;
  };
  LinkWatch(std::unique_ptr<nl_sock, Close> socket, int wakeup);
  void look_at(nl_msg* message);

  std::unique_ptr<nl_sock, Close> socket_;
  int wakeup_;  // eventfd
  bool disturbed_ = false;
  std::mutex mutex_;
  std::set<std::uint32_t> watched_;
  std::uint32_t underlay_ = 0;
  std::uint32_t underlay_mtu_ = 0;
};

}  // namespace fairlead::fabric
