// The contract suite: what every Store promises, as tests. Each implementation runs all of it:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
//                            testing::Values(ContractStore{"plain", [] { return …; }}),
//                            contract_name);
//
// in its own _test.cc; the tests themselves are in contract_*_test.cc of this folder and are linked
// into the same program. They ask for nothing that store.h does not promise; in particular a store
// may begin at any revision, may already be compacted up to it, and may deliver empty batches at
// any time. Where store.h leaves room, the suite reads it so:
//   - a transaction without operations only checks its compares and answers the current revision;
//   - compact(before): lists at revisions >= before and watches after revisions >= before go on
//     working; a watch after before - 1 is complete or gone; compacting the past again is harmless;
//   - a watch reaches every revision that revision() has told, with empty batches if nothing of its
//     prefix changed: that is how a cache knows that it is up to date.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/store/store.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

// A store under test and the loop it runs on, made afresh for every test and empty. Stopping what
// has to be stopped is up to the destructor.
class ContractWorld {
 public:
  virtual ~ContractWorld() = default;
  virtual runtime::Runtime& runtime() = 0;
  virtual Store& store() = 0;
  virtual void run(Task<void> task) = 0;  // runs the loop until the task has ended
};

struct ContractStore {
  std::string name;
  std::function<std::unique_ptr<ContractWorld>()> make;
};

inline void PrintTo(const ContractStore& store, std::ostream* out) { *out << store.name; }
inline std::string contract_name(const testing::TestParamInfo<ContractStore>& info) {
  return info.param.name;
}

Operation put(std::string key, std::string value);
Operation erase(std::string key);
Compare absent(std::string key);
Compare exists(std::string key);
Compare unchanged(std::string key, Revision since);

// "key=value@position" per item, and "-key@position" for erasures: what most expectations are
// about.
std::vector<std::string> texts(const std::vector<KeyValue>& items);
std::vector<std::string> texts(const std::vector<Change>& changes);

// Runs a store call to its end on the world's loop, so that tests read from top to bottom.
class StoreContract : public testing::TestWithParam<ContractStore> {
 protected:
  void SetUp() override;

  template <class T>
  T await(Task<T> task) {
    std::optional<T> value;
    world_->run(keep(std::move(task), value));
    return std::move(*value);
  }
  // A call that never comes back is a failure of the test, not a hanging program.
  template <class T>
  Result<T> await_soon(Task<Result<T>> task) {
    return await(runtime::with_timeout(world_->runtime(), 30s, std::move(task)));
  }

  runtime::Runtime& runtime() { return world_->runtime(); }
  Store& store() { return world_->store(); }
  void run(Task<void> task) { world_->run(std::move(task)); }

  Revision revision();
  Result<Committed> commit(std::vector<Compare> compares, std::vector<Operation> operations);
  // REQUIRES that it succeeds; the revision it got.
  Revision write(std::vector<Operation> operations, std::vector<Compare> compares = {});
  std::optional<KeyValue> get(std::string key);
  Result<Listing> list(std::string prefix, ListOptions options = {});
  Result<> compact(Revision before);
  std::unique_ptr<Watch> watch(std::string prefix, Revision after);
  Result<ChangeBatch> next(Watch& watch);
  // Everything the watch tells until it has reached `revision`.
  std::vector<Change> changes_until(Watch& watch, Revision revision);

 private:
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& value) {
    value.emplace(co_await task);
  }
  std::unique_ptr<ContractWorld> world_;
};

}  // namespace fairlead::store
