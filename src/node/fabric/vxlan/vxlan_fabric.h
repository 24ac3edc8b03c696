// VxlanFabric: virtual networks with nothing but the Linux kernel. One veth pair per local station,
// one VXLAN device for all networks, and eBPF programs between them (datapath.bpf.c); see
// docs/design/006-kernel-fabric.md.
#pragma once

#include <memory>

#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"
#include "node/fabric/fabric.h"
#include "node/fabric/vxlan/vxlan_host.h"

namespace fairlead::fabric {

class VxlanFabric final : public Fabric {
 public:
  VxlanFabric(runtime::Runtime& runtime, vxlan::VxlanOptions options);
  ~VxlanFabric() override;

  std::string_view name() const override { return "vxlan"; }
  Task<Result<>> open() override;
  std::vector<Station> local_stations() const override { return host_->local_stations(); }
  Task<std::vector<Outcome>> apply(const Desired& desired,
                                   std::span<const std::string> ids) override;
  Task<Result<Audit>> audit(const Desired& desired) override;
  runtime::Signal& disturbed() override { return disturbed_; }
  std::uint32_t mtu() const override { return host_->mtu(); }

  // What the kernel programs have counted since their maps were made.
  Task<Result<vxlan::Counters>> counters();

  // Removes everything that is this fabric's from the host; open() begins anew.
  Task<Result<>> dismantle();

 private:
  Task<void> watch();

  runtime::Runtime& runtime_;
  std::shared_ptr<vxlan::VxlanHost> host_;  // shared with work that is under way
  bool watching_ = false;
  runtime::Signal disturbed_;
  runtime::Scope scope_;
};

}  // namespace fairlead::fabric
