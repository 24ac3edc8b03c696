// LogFabric: carries nothing and says what it would do. For trying out configurations, and for
// tests of everything above a fabric at scales that no single machine could carry.
#pragma once

#include <cstdint>
#include <vector>

#include "node/fabric/fabric.h"

namespace fairlead::fabric {

class LogFabric final : public Fabric {
 public:
  struct Options {
    bool say = true;  // a line for each change
    std::uint32_t mtu = 1450;
  };
  LogFabric() = default;
  explicit LogFabric(Options options) : options_(options) {}

  std::string_view name() const override { return "log"; }
  Task<Result<>> open() override;
  std::vector<Station> local_stations() const override;
  Task<std::vector<Outcome>> apply(const Desired& desired,
                                   std::span<const std::string> ids) override;
  Task<Result<Audit>> audit(const Desired& desired) override;
  runtime::Signal& disturbed() override { return disturbed_; }
  std::uint32_t mtu() const override { return options_.mtu; }

  // What it carries, in its imagination.
  const Desired& carried() const { return carried_; }

 private:
  Outcome bring(const Desired& desired, const std::string& id);

  Options options_;
  Desired carried_;
  runtime::Signal disturbed_;
};

}  // namespace fairlead::fabric
