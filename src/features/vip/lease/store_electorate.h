// StoreElectorate: a LeaseElector and the store that it asks (docs/design/022). Each request is
// given up after the renewal interval.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "features/vip/engine/electorate.h"
#include "features/vip/lease/lease_elector.h"
#include "features/vip/lease/lease_store.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

struct StoreElectorateOptions {
  std::string node;
  std::string state;  // file that names this node's disk; made at the first start
  Timing timing;      // of the first start of all; later those in the store count
  bool keep_without_store = false;
  bool authenticated = false;  // the store knows who writes
};

class StoreElectorate final : public Electorate {
 public:
  // Reads or makes the state file. Fails naming it.
  static Result<std::unique_ptr<StoreElectorate>> open(runtime::Runtime& runtime,
                                                       std::unique_ptr<LeaseStore> store,
                                                       const StoreElectorateOptions& options);

  LeaseElector& election() override { return election_; }
  void carry() override;
  Task<void> run(std::function<void()> settle) override;
  Task<void> say_farewell() override;
  bool authenticated() const override { return authenticated_; }

 private:
  StoreElectorate(runtime::Runtime& runtime, std::unique_ptr<LeaseStore> store,
                  LeaseElectorOptions options, bool authenticated);
  Task<void> ask(StoreRequest request);
  void note(const Error* error);

  runtime::Runtime& runtime_;
  std::unique_ptr<LeaseStore> store_;
  LeaseElector election_;
  bool authenticated_;
  std::deque<StoreRequest> requests_;
  std::function<void()> settle_;
  runtime::Signal to_ask_, answered_;
  std::string problem_;   // as the log has it
  bool failing_ = false;  // the last request failed, and a line in the log said so
};

}  // namespace fairlead::vip
