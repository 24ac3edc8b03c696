// A client of one bridge's control socket: changes of flows in atomic bundles, and dumps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "foundation/wire/openflow.h"
#include "node/fabric/ovs/dialogue.h"

namespace fairlead::fabric::ovs {

class OpenFlowClient {
 public:
  using OnEnd = std::function<void(const Error&)>;
  OpenFlowClient(runtime::Runtime& runtime, runtime::Endpoint bridge, OnEnd on_end);

  Task<Result<>> connect();
  bool connected() const { return dialogue_.connected(); }
  // Connected, and the bridge has said that it speaks our language.
  bool ready() const { return connected() && greeted_; }

  // What the switch found wrong, and which change it was if it said so.
  struct Refusal {
    Error error;
    std::optional<std::size_t> change;
  };
  // All changes or none, in order, seen by packets at once. nullopt: done.
  Task<std::optional<Refusal>> commit(std::vector<wire::openflow::FlowMod> changes);

  // The switch has carried out what it was told so far, and is at work.
  Task<Result<>> barrier();

  // Every flow of the bridge.
  Task<Result<>> dump(std::function<void(const wire::openflow::Flow&)> each);

 private:
  Result<> consume(std::string_view piece);
  Result<> receive(const wire::openflow::Message& message);
  void refused(std::uint32_t xid, std::string_view body);

  runtime::Runtime& runtime_;
  runtime::Endpoint bridge_;
  wire::openflow::MessageReader reader_;
  bool greeted_ = false;
  std::uint32_t last_xid_ = 0;
  std::uint32_t last_bundle_ = 0;

  // Of the bundle under way: its changes' xids begin here; the first that was refused.
  std::uint32_t first_change_ = 0;
  std::size_t changes_ = 0;
  std::optional<Refusal> refusal_;
  std::function<void(const wire::openflow::Flow&)> dumped_;
  Dialogue<std::uint32_t, bool> dialogue_;
};

}  // namespace fairlead::fabric::ovs
