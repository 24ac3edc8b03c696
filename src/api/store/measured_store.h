// MeasuredStore: a Store whose commits and reads are timed, whatever is behind it.
//
//   fairlead_store_commit_seconds{outcome}  ok, conflict (a compare did not hold) or error
//   fairlead_store_read_seconds{outcome}    get, list and the linearizable revision: ok or error
#pragma once

#include "api/store/store.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

class MeasuredStore final : public Store {
 public:
  MeasuredStore(runtime::Runtime& runtime, std::unique_ptr<Store> store,
                metrics::Registry& registry);

  Task<Result<Revision>> revision() override;
  std::optional<Revision> revision_now() const override { return store_->revision_now(); }
  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<Listing>> list(std::string prefix, ListOptions options) override;
  Task<Result<Committed>> commit(Transaction transaction) override;
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision after) override {
    return store_->watch(std::move(prefix), after);
  }
  Task<Result<>> compact(Revision before) override { return store_->compact(before); }

 private:
  double seconds_since(Instant began) const;
  void read_ended(Instant began, bool ok);

  runtime::Runtime& runtime_;
  std::unique_ptr<Store> store_;
  metrics::Histogram& commit_ok_;
  metrics::Histogram& commit_conflict_;
  metrics::Histogram& commit_error_;
  metrics::Histogram& read_ok_;
  metrics::Histogram& read_error_;

  MeasuredStore(runtime::Runtime& runtime, std::unique_ptr<Store> store,
                metrics::Family<metrics::Histogram>& commits,
                metrics::Family<metrics::Histogram>& reads);
};

}  // namespace fairlead::store
