// The watches of an EtcdStore, and what makes sure that they get to every revision it has told of.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/store/etcd/etcd_store.h"
#include "foundation/base/log.h"

namespace fairlead::store {

// Stands at a revision and reads on from the feed's log. While it stands further back than the log
// reaches, it follows etcd by itself.
class EtcdStore::EtcdWatch final : public Watch {
 public:
  EtcdWatch(EtcdStore& store, std::string prefix, Revision after)
      : store_(store), prefix_(std::move(prefix)), asked_(after) {
    // Follows from now on, not only once somebody asks; unless etcd was never spoken to before.
    const EtcdEpoch& known = store.client_.history().epoch();
    if (known.life != 0 && asked_ >= known.oldest()) follow(known);
  }

  Task<Result<ChangeBatch>> next() override {
    if (!feed_) {
      FL_CO_CHECKED(co_await begin());
    }
    FL_CO_TRY(ChangeBatch batch, co_await next_in_etcd());
    for (Change& change : batch.changes) show(change.current, epoch_);
    batch.revision = epoch_.shown(batch.revision);
    co_return batch;
  }

 private:
  Task<Result<>> begin() {
    FL_CO_TRY(const EtcdEpoch known, co_await store_.client_.epoch());
    if (asked_ < known.oldest())
      co_return fail(Code::gone,
                     fmt::format("revision {} lies before the restore of etcd", asked_));
    follow(known);
    co_return Result<>{};
  }

  void follow(const EtcdEpoch& epoch) {
    epoch_ = epoch;
    after_ = epoch_.in_etcd(asked_);
    feed_ = store_.feed_after(epoch_, after_);
  }

  Task<Result<ChangeBatch>> next_in_etcd() {
    for (;;) {
      if (store_.client_.history().epoch().life != epoch_.life)
        co_return fail(Code::gone, "etcd was restored");
      const ChangeLog& log = feed_->log();
      if (after_ < log.floor()) co_return co_await pursue();
      own_.reset();
      if (after_ < log.head()) {
        ChangeBatch batch = log.read(prefix_, after_);
        after_ = batch.revision;
        co_return batch;
      }
      if (feed_->ended()) {
        // A feed that stood further back than this watch was lost; that says nothing about us.
        if (after_ == log.head()) co_return fail(*feed_->ended());
        feed_ = store_.feed_after(epoch_, after_);
        continue;
      }
      FL_CO_CHECKED(co_await feed_->changed().wait());
    }
  }

  Task<Result<ChangeBatch>> pursue() {
    if (!own_) own_ = std::make_unique<EtcdTail>(store_.client_, store_.keys_, epoch_.life, after_);
    const Pursuing pursuing(store_);
    Result<std::vector<RevisionChanges>> revisions = co_await own_->next();
    if (!revisions) co_return fail(std::move(revisions).error());
    ChangeBatch batch;
    for (RevisionChanges& one : *revisions) {
      for (Change& change : one.changes) {
        if (change.current.key.starts_with(prefix_)) batch.changes.push_back(std::move(change));
      }
    }
    batch.revision = after_ = own_->position();
    co_return batch;
  }

  struct Pursuing {
    explicit Pursuing(EtcdStore& owner) : store(owner) { ++store.pursuing_; }
    ~Pursuing() { --store.pursuing_; }
    Pursuing(const Pursuing&) = delete;
    Pursuing& operator=(const Pursuing&) = delete;
    EtcdStore& store;
  };

  EtcdStore& store_;
  std::string prefix_;
  const Revision asked_;  // a revision of the store
  EtcdEpoch epoch_;       // the one it began in, and cannot outlive
  Revision after_ = 0;    // a revision of etcd, as all that the feed and the tail show
  std::shared_ptr<EtcdFeed> feed_;
  std::unique_ptr<EtcdTail> own_;
};

Result<std::unique_ptr<Watch>> EtcdStore::watch(std::string prefix, Revision after) {
  if (after < 0) return fail(Code::invalid, "watch after a negative revision");
  return std::make_unique<EtcdWatch>(*this, std::move(prefix), after);
}

std::shared_ptr<EtcdFeed> EtcdStore::feed_after(const EtcdEpoch& epoch, Revision after) {
  if (!feed_ || feed_->ended()) {
    feed_ = std::make_shared<EtcdFeed>(client_, keys_, epoch.life, after);
    want(wanted_);  // whoever was told of a revision before may be waiting for it
  }
  return feed_;
}

void EtcdStore::want(Revision revision) {
  wanted_ = std::max(wanted_, revision);
  client_.history().saw(client_.history().epoch().shown(revision));
  if (nudging_ || !behind(wanted_)) return;
  nudging_ = true;
  scope_.spawn(nudge());
}

bool EtcdStore::behind(Revision revision) const {
  if (!feed_ || feed_->ended()) return false;
  return feed_->log().head() < revision || pursuing_ > 0;
}

// Runs while watches are behind. Events mostly come by themselves; then this only looks on.
Task<void> EtcdStore::nudge() {
  const EtcdOptions& options = client_.options();
  while (behind(wanted_)) {
    const Revision target = wanted_;
    const Revision before = feed_->log().head();
    const Result<> waited =
        co_await runtime::with_timeout(runtime_, options.lag_time, wait_until_reached(target));
    if (!waited && waited.error().code == Code::cancelled) break;
    if (!behind(target)) continue;
    if (known_event_ < target || pursuing_ > 0) {
      const Result<Revision> ticked = co_await tick();
      if (!ticked) log::warning("etcd tick failed", {{"error", ticked.error().to_string()}});
    }
    const Result<> reached =
        co_await runtime::with_timeout(runtime_, options.stall_time, wait_until_reached(target));
    if (!reached && reached.error().code == Code::cancelled) break;
    if (behind(target) && feed_->log().head() == before) feed_->move_on();
  }
  nudging_ = false;
}

Task<Result<>> EtcdStore::wait_until_reached(Revision revision) {
  while (behind(revision)) {
    const std::shared_ptr<EtcdFeed> feed = feed_;
    FL_CO_CHECKED(co_await feed->changed().wait());
  }
  co_return Result<>{};
}

Task<Result<Revision>> EtcdStore::tick() {
  ++client_.counters().ticks;
  const std::uint64_t life = client_.history().epoch().life;
  const std::string value = seal_value(0, "");
  wire::etcd::TxnRequest request;
  request.success.emplace_back(wire::etcd::PutRequest{.key = keys_.tick(), .value = value});
  std::string framed = framed_request(request);
  FL_CO_TRY(const std::string bytes,
            co_await client_.write(wire::etcd::kTxnPath, std::move(framed), life));
  FL_CO_TRY(const wire::etcd::TxnResponse response, wire::etcd::decode_txn_response(bytes));
  if (client_.history().epoch().life == life)
    known_event_ = std::max(known_event_, response.header.revision);
  co_return response.header.revision;
}

}  // namespace fairlead::store
