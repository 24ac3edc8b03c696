#include "api/store/etcd/tail.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foundation/base/log.h"

namespace fairlead::store {
namespace {

constexpr runtime::BackOff::Limits kRetries{.first = 20ms, .longest = 1s, .jitter = true};

// What another member, or the same one later, may not refuse.
bool may_pass(const Error& error) {
  switch (error.code) {
    case Code::gone:
    case Code::cancelled:
    case Code::forbidden:
    case Code::unauthorized:
    case Code::unsupported:
      return false;
    default:
      return true;
  }
}

}  // namespace

EtcdTail::EtcdTail(EtcdClient& client, const EtcdKeys& keys, std::uint64_t life, Revision after)
    : client_(client),
      keys_(keys),
      life_(life),
      position_(after),
      member_(client.current_member()),
      back_off_(kRetries) {}

EtcdTail::~EtcdTail() = default;

Task<Result<EtcdTail::Revisions>> EtcdTail::next() {
  for (;;) {
    Result<Revisions> result = co_await read_or_be_moved();
    const bool told_to_move = std::exchange(moving_on_, false);
    if (result) {
      failing_ = false;
      back_off_.reset();
      position_ = result->back().revision;
      co_return result;
    }
    disconnect();
    if (!told_to_move && !may_pass(result.error())) co_return fail(std::move(result).error());
    log::info("etcd watch reconnects",
              {{"after", position_}, {"error", result.error().to_string()}});
    ++member_;
    // The next member may be there: only after that is a pause of use.
    if (std::exchange(failing_, true)) {
      FL_CO_CHECKED(co_await back_off_.pause(client_.runtime()));
    }
  }
}

Task<Result<EtcdTail::Revisions>> EtcdTail::read_or_be_moved() {
  Reading reading(client_.runtime(), read_once());
  const struct Known {  // also when this frame is destroyed while it waits
    Known(Reading*& place, Reading& reading) : place_(place) { place_ = &reading; }
    ~Known() { place_ = nullptr; }
    Reading*& place_;
  } known(reading_, reading);
  co_return co_await reading;
}

void EtcdTail::move_on() {
  if (!reading_ || moving_on_) return;
  moving_on_ = true;
  reading_->cancel();
}

// Waits for one message at least, then takes along what else has arrived.
Task<Result<EtcdTail::Revisions>> EtcdTail::read_once() {
  Revisions revisions;
  while (revisions.empty()) {
    if (!stream_) {
      Task<Result<>> connecting = connect();
      FL_CO_CHECKED(co_await runtime::with_timeout(
          client_.runtime(), client_.options().attempt_time, std::move(connecting)));
    }
    FL_CO_TRY(const std::string_view message, co_await stream_->next());
    FL_CO_TRY(revisions, take(message));
    for (;;) {
      FL_CO_TRY(const std::optional<std::string_view> arrived, stream_->next_arrived());
      if (!arrived) break;
      FL_CO_TRY(Revisions more, take(*arrived));
      std::ranges::move(more, std::back_inserter(revisions));
    }
  }
  co_return revisions;
}

// The watch begins at `position_`, whose changes are known already, and not one later: etcd accepts
// a watch from exactly the revision it was compacted to, although erasures of that very revision
// are lost then. Beginning one early, that case is refused as compacted.
Task<Result<>> EtcdTail::connect() {
  ++client_.counters().watch_connects;
  wire::etcd::WatchCreateRequest create;
  create.key = keys_.root();
  create.range_end = keys_.root_end();
  create.start_revision = std::max<Revision>(position_, 1);
  create.fragment = true;
  std::string framed = framed_request(wire::etcd::WatchRequest(create));
  FL_CO_TRY(
      std::unique_ptr<EtcdStream> stream,
      co_await client_.open_stream(member_, wire::etcd::kWatchPath, std::move(framed), life_));
  FL_CO_TRY(const std::string_view first, co_await stream->next());
  FL_CO_TRY(const wire::etcd::WatchResponse created, wire::etcd::decode_watch_response(first));
  if (!created.created || created.canceled)
    co_return fail(Code::forbidden,
                   "etcd refuses the watch: " + std::string(created.cancel_reason));
  assembler_.emplace(keys_, position_);
  stream_ = std::move(stream);
  co_return Result<>{};
}

Result<EtcdTail::Revisions> EtcdTail::take(std::string_view message) {
  FL_TRY(const wire::etcd::WatchResponse response, wire::etcd::decode_watch_response(message));
  if (response.canceled) {
    if (response.compact_revision == 0)
      return fail(Code::unavailable, "watch cancelled: " + std::string(response.cancel_reason));
    return fail(Code::gone, "changes after revision " + std::to_string(position_) +
                                " were compacted up to " +
                                std::to_string(response.compact_revision));
  }
  EtcdCounters& counters = client_.counters();
  counters.watch_events += response.events.size();
  const std::uint64_t foreign_before = assembler_->foreign_values();
  FL_TRY(Revisions revisions, assembler_->take(response));
  if (assembler_->epoch_written() > client_.history().epoch().began) {
    client_.doubt();
    return fail(Code::gone, "another epoch of etcd began");
  }
  counters.foreign_values += assembler_->foreign_values() - foreign_before;
  return revisions;
}

void EtcdTail::disconnect() {
  stream_.reset();
  assembler_.reset();
}

}  // namespace fairlead::store
