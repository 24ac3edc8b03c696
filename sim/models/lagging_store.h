// LaggingStore: a way to a Store as one of several servers has it. Everything takes a while; its
// watch is behind by chance, more or less; a commit that is cut off may or may not have been made.
#pragma once

#include <memory>
#include <string>

#include "api/store/store.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::sim {

struct Lag {
  Duration call{10'000'000};   // each way, at most
  Duration watch{50'000'000};  // behind, at most
};

class LaggingStore final : public store::Store {
 public:
  LaggingStore(runtime::Runtime& runtime, store::Store& inner, Lag lag = {})
      : runtime_(runtime), inner_(inner), lag_(lag) {}

  Task<Result<store::Revision>> revision() override;
  Task<Result<std::optional<store::KeyValue>>> get(std::string key) override;
  Task<Result<store::Listing>> list(std::string prefix, store::ListOptions options) override;
  Task<Result<store::Committed>> commit(store::Transaction transaction) override;
  Result<std::unique_ptr<store::Watch>> watch(std::string prefix, store::Revision after) override;
  Task<Result<>> compact(store::Revision before) override;

 private:
  class LaggingWatch;
  Duration up_to(Duration most);

  runtime::Runtime& runtime_;
  store::Store& inner_;
  Lag lag_;
};

}  // namespace fairlead::sim
