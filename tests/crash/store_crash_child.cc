// The victim of store_crash_test: writes to a SqliteStore from many fibers until it is killed, and
// prints every write after it was acknowledged.
//
//   store_crash_child DIRECTORY RUN
//
//   opened REVISION
//   new KEY VALUE REVISION        the key is written once and never again
//   count KEY VALUE REVISION      the key counts up, in step with a second one of the same
//   transaction
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "api/store/sqlite/sqlite_store.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {
namespace {

// One write(2) per line: a kill leaves no half lines behind, and nothing waits in a buffer.
void print_line(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::_Exit(1);
}

Operation put(std::string key, std::string value) {
  return {.kind = Operation::Kind::put, .key = std::move(key), .value = Bytes(std::move(value))};
}

Task<void> create_for_ever(Store& store, std::string run, int fiber) {
  for (int i = 0;; ++i) {
    const std::string key = fmt::format("/new/{}/{}/{}", run, fiber, i);
    const std::string value =
        fmt::format("{}-{}", i, std::string(static_cast<std::size_t>(i) % 1'500, 'v'));
    Transaction transaction;
    transaction.compares.push_back({.key = key, .modified = 0});
    transaction.operations.push_back(put(key, value));
    const Result<Committed> committed = co_await store.commit(std::move(transaction));
    if (!committed) std::_Exit(2);
    print_line(fmt::format("new {} {} {}\n", key, value, committed->revision));
  }
}

Task<void> count_for_ever(Store& store, int fiber) {
  const std::string key = fmt::format("/count/{}/first", fiber);
  const std::string twin = fmt::format("/count/{}/second", fiber);
  for (;;) {
    const Result<std::optional<KeyValue>> found = co_await store.get(key);
    if (!found) std::_Exit(3);
    const int value = *found ? std::stoi(std::string((*found)->value.view())) + 1 : 1;
    Transaction transaction;
    transaction.compares.push_back(
        {.key = key, .modified = *found ? (*found)->modified.revision : 0});
    transaction.operations.push_back(put(key, std::to_string(value)));
    transaction.operations.push_back(put(twin, std::to_string(value)));
    const Result<Committed> committed = co_await store.commit(std::move(transaction));
    if (!committed) std::_Exit(4);
    print_line(fmt::format("count {} {} {}\n", key, value, committed->revision));
  }
}

Task<void> compact_for_ever(runtime::Runtime& runtime, Store& store) {
  for (;;) {
    const Result<> slept = co_await runtime::sleep(runtime, 5ms);
    const Result<Revision> now = co_await store.revision();
    if (!slept || !now) std::_Exit(5);
    const Result<> compacted = co_await store.compact(std::max<Revision>(0, *now - 50));
    if (!compacted) std::_Exit(6);
  }
}

Task<void> run(runtime::Runtime& runtime, SqliteStore& store, std::string name) {
  const Result<Revision> opened = co_await store.revision();
  print_line(fmt::format("opened {}\n", opened.value_or(-1)));
  runtime::Scope scope(runtime);
  for (int i = 0; i < 12; ++i) scope.spawn(create_for_ever(store, name, i));
  for (int i = 0; i < 4; ++i) scope.spawn(count_for_ever(store, i));
  scope.spawn(compact_for_ever(runtime, store));
  co_await scope.join();
}

}  // namespace
}  // namespace fairlead::store

int main(int count, char** arguments) {
  using namespace fairlead;
  if (count != 3) return 64;
  runtime::EpollRuntime runtime;
  // A short log, so that many of the kills meet a checkpoint.
  auto store =
      store::SqliteStore::open(runtime, {.directory = arguments[1], .checkpoint_pages = 100});
  if (!store) {
    fmt::print(stderr, "{}\n", store.error().to_string());
    return 1;
  }
  runtime.run_until_complete(store::run(runtime, **store, arguments[2]));
}
