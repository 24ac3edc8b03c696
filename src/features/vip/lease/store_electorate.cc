#include "features/vip/lease/store_electorate.h"

#include <charconv>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr int kStateMode = 0600;

// The number of this node's disk, as text.
Result<std::uint64_t> read_instance(runtime::Runtime& runtime, const std::string& file) {
  const Result<std::string> text = runtime.files().read(file);
  if (!text && text.error().code != Code::not_found) return fail(text.error());
  if (!text) {
    const std::uint64_t instance = runtime.random() | 1;
    FL_CHECKED(runtime.files().write_atomically(file, std::to_string(instance) + "\n", kStateMode));
    return instance;
  }
  std::uint64_t instance = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, instance);
  if (error != std::errc() || std::string_view(rest, end) != "\n" || instance == 0)
    return fail(Code::invalid, file + ": must hold one number");
  return instance;
}

}  // namespace

Result<std::unique_ptr<StoreElectorate>> StoreElectorate::open(
    runtime::Runtime& runtime, std::unique_ptr<LeaseStore> store,
    const StoreElectorateOptions& options) {
  FL_CHECKED(check(options.timing));
  FL_TRY(const std::uint64_t instance, read_instance(runtime, options.state));
  LeaseElectorOptions elector{.self = options.node,
                              .instance = instance,
                              .incarnation = runtime.random() | 1,
                              .timing = options.timing,
                              .keep_without_store = options.keep_without_store};
  return std::unique_ptr<StoreElectorate>(
      new StoreElectorate(runtime, std::move(store), std::move(elector), options.authenticated));
}

StoreElectorate::StoreElectorate(runtime::Runtime& runtime, std::unique_ptr<LeaseStore> store,
                                 LeaseElectorOptions options, bool authenticated)
    : runtime_(runtime),
      store_(std::move(store)),
      election_(std::move(options), runtime.now(), [this] { return runtime_.random(); }),
      authenticated_(authenticated) {}

// The time of a renewal is read here, before anything of it is sent.
void StoreElectorate::carry() {
  for (StoreRequest& request : election_.take_requests(runtime_.now()))
    requests_.push_back(std::move(request));
  if (!requests_.empty()) to_ask_.notify();
}

void StoreElectorate::note(const Error* error) {
  const bool fails = error && error->code != Code::conflict;
  if (fails && !failing_)
    log::warning("the store of virtual IPs does not answer", {{"error", error->to_string()}});
  if (!fails && failing_) log::info("the store of virtual IPs answers again");
  failing_ = fails;
}

Task<void> StoreElectorate::ask(StoreRequest request) {
  const Duration limit = election_.timing().renew;
  if (request.put) {
    const std::string holder = request.put->holder;
    const bool bars = request.put->name != kTableName && holder != election_.self();
    Task<Result<std::string>> storing = store_->put(std::move(*request.put));
    const Result<std::string> version =
        co_await runtime::with_timeout(runtime_, limit, std::move(storing));
    if (!version && version.error().code == Code::cancelled) co_return;
    note(version ? nullptr : &version.error());
    if (version && bars) log::info("silent node barred", {{"node", holder}});
    election_.stored(runtime_.now(), request.number, version);
  } else {
    Task<Result<std::vector<StoredRecord>>> listing = store_->list();
    const Result<std::vector<StoredRecord>> list =
        co_await runtime::with_timeout(runtime_, limit, std::move(listing));
    if (!list && list.error().code == Code::cancelled) co_return;
    note(list ? nullptr : &list.error());
    election_.listed(runtime_.now(), request.number, list);
  }
  if (problem_ != election_.problem()) {
    problem_ = election_.problem();
    if (!problem_.empty()) log::error("virtual IPs are not held here", {{"reason", problem_}});
  }
  settle_();
  answered_.notify();
}

Task<void> StoreElectorate::run(std::function<void()> settle) {
  settle_ = std::move(settle);
  runtime::Scope scope(runtime_);
  for (;;) {
    while (!requests_.empty()) {
      scope.spawn(ask(std::move(requests_.front())));
      requests_.pop_front();
    }
    if (!co_await to_ask_.wait()) break;
  }
  co_await scope.close();
}

Task<void> StoreElectorate::say_farewell() {
  election_.retire();
  settle_();
  // One request that is under way, and two attempts.
  const Instant end = runtime_.now() + 3 * election_.timing().renew;
  while (!election_.has_retired()) {
    runtime::TimedWait wait(runtime_, answered_, end);
    const Result<> woken = co_await wait;
    if (!woken) co_return;
  }
}

}  // namespace fairlead::vip
