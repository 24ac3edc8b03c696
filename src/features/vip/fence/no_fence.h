// NoFence: stands for the fence where the kernel cannot keep one and the operator has agreed to go
// without (`fence: besteffort`). Promises nothing: a host that hangs while it has the address goes
// on answering.
#pragma once

#include "features/vip/fence/fence.h"

namespace fairlead::vip {

class NoFence final : public Fence {
 public:
  Result<> watch(const Ip&, const std::string&) override { return {}; }
  Result<> open_until(const Ip&, Instant) override { return {}; }
  Result<> close(const Ip&) override { return {}; }
  void close_all() override {}
  Result<> forget(const Ip&) override { return {}; }
  Result<std::vector<FencedVip>> list() const override { return std::vector<FencedVip>{}; }
};

}  // namespace fairlead::vip
