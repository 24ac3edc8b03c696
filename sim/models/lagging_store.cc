#include "sim/models/lagging_store.h"

#include <utility>

namespace fairlead::sim {

Duration LaggingStore::up_to(Duration most) {
  return Duration(
      static_cast<Duration::rep>(runtime_.random() % static_cast<std::uint64_t>(most.count() + 1)));
}

Task<Result<store::Revision>> LaggingStore::revision() {
  FL_CO_CHECKED(co_await runtime::sleep(runtime_, up_to(lag_.call)));
  co_return co_await inner_.revision();
}

Task<Result<std::optional<store::KeyValue>>> LaggingStore::get(std::string key) {
  FL_CO_CHECKED(co_await runtime::sleep(runtime_, up_to(lag_.call)));
  co_return co_await inner_.get(std::move(key));
}

Task<Result<store::Listing>> LaggingStore::list(std::string prefix, store::ListOptions options) {
  FL_CO_CHECKED(co_await runtime::sleep(runtime_, up_to(lag_.call)));
  co_return co_await inner_.list(std::move(prefix), std::move(options));
}

Task<Result<store::Committed>> LaggingStore::commit(store::Transaction transaction) {
  FL_CO_CHECKED(co_await runtime::sleep(runtime_, up_to(lag_.call)));
  Result<store::Committed> committed = co_await inner_.commit(std::move(transaction));
  FL_CO_CHECKED(co_await runtime::sleep(runtime_, up_to(lag_.call)));
  co_return committed;
}

Task<Result<>> LaggingStore::compact(store::Revision before) {
  co_return co_await inner_.compact(before);
}

class LaggingStore::LaggingWatch final : public store::Watch {
 public:
  LaggingWatch(LaggingStore& store, std::unique_ptr<store::Watch> inner)
      : store_(store), inner_(std::move(inner)) {}
  Task<Result<store::ChangeBatch>> next() override {
    Result<store::ChangeBatch> batch = co_await inner_->next();
    FL_CO_CHECKED(co_await runtime::sleep(store_.runtime_, store_.up_to(store_.lag_.watch)));
    co_return batch;
  }

 private:
  LaggingStore& store_;
  std::unique_ptr<store::Watch> inner_;
};

Result<std::unique_ptr<store::Watch>> LaggingStore::watch(std::string prefix,
                                                          store::Revision after) {
  FL_TRY(std::unique_ptr<store::Watch> inner, inner_.watch(std::move(prefix), after));
  return std::make_unique<LaggingWatch>(*this, std::move(inner));
}

}  // namespace fairlead::sim
