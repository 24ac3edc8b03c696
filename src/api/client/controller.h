// run_workers: the loop of every controller: take a key, reconcile it, retry what failed.
#pragma once

#include <functional>
#include <string_view>

#include "api/client/work_queue.h"
#include "foundation/base/log.h"
#include "foundation/base/result.h"
#include "foundation/runtime/scope.h"

namespace fairlead::client {

namespace detail {

template <class Key>
Task<void> work_through(WorkQueue<Key>& queue, std::string_view name,
                        const std::function<Task<Result<>>(Key)>& reconcile) {
  for (;;) {
    const Result<Key> key = co_await queue.take();
    if (!key) co_return;
    const Result<> outcome = co_await reconcile(*key);
    if (outcome) {
      queue.forget(*key);
    } else if (outcome.error().code != Code::cancelled) {
      log::warning("reconciliation will be tried again",
                   {{"controller", name}, {"error", outcome.error().to_string()}});
      queue.retry(*key);
    }
    queue.done(*key);
  }
}

}  // namespace detail

// Runs `workers` fibers until the queue is shut down and empty, or until cancelled. `name` and
// `queue` outlive it.
template <class Key>
Task<void> run_workers(runtime::Runtime& runtime, WorkQueue<Key>& queue, std::string_view name,
                       int workers, std::function<Task<Result<>>(Key)> reconcile) {
  runtime::Scope scope(runtime);
  for (int i = 0; i < workers; ++i) scope.spawn(detail::work_through(queue, name, reconcile));
  co_await scope.join();
}

}  // namespace fairlead::client
