#include "api/store/measured_store.h"

namespace fairlead::store {

MeasuredStore::MeasuredStore(runtime::Runtime& runtime, std::unique_ptr<Store> store,
                             metrics::Registry& registry)
    : MeasuredStore(
          runtime, std::move(store),
          registry.histograms("fairlead_store_commit_seconds",
                              "How long transactions took, waiting for others included.",
                              {"outcome"}, metrics::latency_bounds()),
          registry.histograms("fairlead_store_read_seconds", "How long reads from the store took.",
                              {"outcome"}, metrics::latency_bounds())) {}

MeasuredStore::MeasuredStore(runtime::Runtime& runtime, std::unique_ptr<Store> store,
                             metrics::Family<metrics::Histogram>& commits,
                             metrics::Family<metrics::Histogram>& reads)
    : runtime_(runtime),
      store_(std::move(store)),
      commit_ok_(commits.with({"ok"})),
      commit_conflict_(commits.with({"conflict"})),
      commit_error_(commits.with({"error"})),
      read_ok_(reads.with({"ok"})),
      read_error_(reads.with({"error"})) {}

double MeasuredStore::seconds_since(Instant began) const {
  return std::chrono::duration<double>(runtime_.now() - began).count();
}

void MeasuredStore::read_ended(Instant began, bool ok) {
  (ok ? read_ok_ : read_error_).observe(seconds_since(began));
}

Task<Result<Revision>> MeasuredStore::revision() {
  const Instant began = runtime_.now();
  Result<Revision> outcome = co_await store_->revision();
  read_ended(began, outcome.has_value());
  co_return outcome;
}

Task<Result<std::optional<KeyValue>>> MeasuredStore::get(std::string key) {
  const Instant began = runtime_.now();
  Result<std::optional<KeyValue>> outcome = co_await store_->get(std::move(key));
  read_ended(began, outcome.has_value());
  co_return outcome;
}

Task<Result<Listing>> MeasuredStore::list(std::string prefix, ListOptions options) {
  const Instant began = runtime_.now();
  Result<Listing> outcome = co_await store_->list(std::move(prefix), std::move(options));
  read_ended(began, outcome.has_value());
  co_return outcome;
}

Task<Result<Committed>> MeasuredStore::commit(Transaction transaction) {
  const Instant began = runtime_.now();
  Result<Committed> outcome = co_await store_->commit(std::move(transaction));
  metrics::Histogram& took = outcome                                  ? commit_ok_
                             : outcome.error().code == Code::conflict ? commit_conflict_
                                                                      : commit_error_;
  took.observe(seconds_since(began));
  co_return outcome;
}

}  // namespace fairlead::store
