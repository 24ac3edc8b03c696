// The tools of the contract suite; its tests are in the other contract_*_test.cc.
#include "api/store/contract/contract.h"

#include <fmt/format.h>

namespace fairlead::store {

Operation put(std::string key, std::string value) {
  return {.kind = Operation::Kind::put, .key = std::move(key), .value = Bytes(std::move(value))};
}
Operation erase(std::string key) {
  return {.kind = Operation::Kind::erase, .key = std::move(key), .value = {}};
}
Compare absent(std::string key) { return {.key = std::move(key), .modified = 0}; }
Compare exists(std::string key) { return {.key = std::move(key), .modified = Compare::kExists}; }
Compare unchanged(std::string key, Revision since) {
  return {.key = std::move(key), .modified = since};
}

std::vector<std::string> texts(const std::vector<KeyValue>& items) {
  std::vector<std::string> texts;
  for (const KeyValue& item : items)
    texts.push_back(fmt::format("{}={}@{}", item.key, item.value.view(), item.modified.position));
  return texts;
}

std::vector<std::string> texts(const std::vector<Change>& changes) {
  std::vector<std::string> texts;
  for (const Change& change : changes) {
    const KeyValue& item = change.current;
    texts.push_back(change.erased ? fmt::format("-{}@{}", item.key, item.modified.position)
                                  : fmt::format("{}={}@{}", item.key, item.value.view(),
                                                item.modified.position));
  }
  return texts;
}

void StoreContract::SetUp() { world_ = GetParam().make(); }

Revision StoreContract::revision() {
  const Result<Revision> current = await_soon(store().revision());
  EXPECT_TRUE(current) << current.error().to_string();
  return current.value_or(0);
}

Result<Committed> StoreContract::commit(std::vector<Compare> compares,
                                        std::vector<Operation> operations) {
  return await_soon(
      store().commit({.compares = std::move(compares), .operations = std::move(operations)}));
}

Revision StoreContract::write(std::vector<Operation> operations, std::vector<Compare> compares) {
  const Result<Committed> committed = commit(std::move(compares), std::move(operations));
  EXPECT_TRUE(committed) << committed.error().to_string();
  return committed ? committed->revision : 0;
}

std::optional<KeyValue> StoreContract::get(std::string key) {
  Result<std::optional<KeyValue>> found = await_soon(store().get(std::move(key)));
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? *found : std::nullopt;
}

Result<Listing> StoreContract::list(std::string prefix, ListOptions options) {
  return await_soon(store().list(std::move(prefix), std::move(options)));
}

Result<> StoreContract::compact(Revision before) { return await_soon(store().compact(before)); }

std::unique_ptr<Watch> StoreContract::watch(std::string prefix, Revision after) {
  Result<std::unique_ptr<Watch>> opened = store().watch(std::move(prefix), after);
  EXPECT_TRUE(opened) << opened.error().to_string();
  return std::move(*opened);
}

Result<ChangeBatch> StoreContract::next(Watch& watch) { return await_soon(watch.next()); }

std::vector<Change> StoreContract::changes_until(Watch& watch, Revision revision) {
  std::vector<Change> changes;
  for (Revision reached = 0; reached < revision;) {
    Result<ChangeBatch> batch = next(watch);
    EXPECT_TRUE(batch) << batch.error().to_string();
    if (!batch) break;
    EXPECT_GE(batch->revision, reached);
    reached = batch->revision;
    for (Change& change : batch->changes) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace fairlead::store
