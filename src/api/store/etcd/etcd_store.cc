#include "api/store/etcd/etcd_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/store/transaction.h"

namespace fairlead::store {
namespace {

namespace etcd = wire::etcd;

// A page of a list is about this large, and the first one small enough for the largest values.
constexpr std::size_t kPageBytes = 1 << 20;
constexpr std::size_t kFirstPage = 32;
constexpr std::size_t kLargestPage = 2'000;
// How often a list of "now" starts over when compaction overtakes it.
constexpr int kListAttempts = 3;
// How often a question is asked again because the epoch changed.
constexpr int kEpochAttempts = 5;

std::size_t next_page(std::size_t page, std::size_t items, std::size_t bytes) {
  if (items == 0) return page;
  const std::size_t fitting = kPageBytes / std::max<std::size_t>(bytes / items, 1);
  return std::clamp<std::size_t>(fitting, 1, std::min(4 * page, kLargestPage));
}

}  // namespace

// One question to etcd for its revision, shared by everyone who came before it was asked.
struct EtcdStore::Question {
  bool begun = false;  // a fiber is on its way to ask
  std::optional<Result<Revision>> answer;
  runtime::Signal answered;
};

EtcdStore::EtcdStore(runtime::Runtime& runtime, EtcdOptions options)
    : runtime_(runtime),
      keys_(options.root),
      client_(runtime, options),
      commits_(client_, keys_),
      scope_(runtime) {
  client_.history().on_change([this] { change_epoch(); });
}

EtcdStore::~EtcdStore() = default;

Task<Result<Revision>> EtcdStore::revision() {
  if (!next_question_) next_question_ = std::make_shared<Question>();
  const std::shared_ptr<Question> question = next_question_;
  if (questions_under_way_ < kQuestions && !std::exchange(question->begun, true)) {
    ++questions_under_way_;
    scope_.spawn(ask_revisions());
  }
  while (!question->answer) {
    FL_CO_CHECKED(co_await question->answered.wait());
  }
  co_return *question->answer;
}

// A question leaves next_question_ when it is asked, so that whoever comes later waits for a later
// one.
Task<void> EtcdStore::ask_revisions() {
  while (next_question_) {
    const Result<> joined = co_await let_others_join(runtime_);
    if (!joined || !next_question_) break;
    const std::shared_ptr<Question> question = std::exchange(next_question_, nullptr);
    question->answer = co_await ask_revision();
    question->answered.notify();
  }
  --questions_under_way_;
}

Task<Result<Revision>> EtcdStore::ask_revision() {
  for (int attempt = 1;; ++attempt) {
    FL_CO_TRY(const std::optional<Revision> now, co_await ask_revision_once());
    if (now) co_return *now;
    if (attempt == kEpochAttempts) co_return fail(Code::unavailable, "etcd is being restored");
  }
}

// Nothing: the epoch changed meanwhile, or is not what it was.
Task<Result<std::optional<Revision>>> EtcdStore::ask_revision_once() {
  FL_CO_TRY(const EtcdEpoch epoch, co_await client_.epoch());
  const Revision seen = client_.history().seen();
  const etcd::RangeRequest request{.key = keys_.epoch(), .limit = 1, .keys_only = true};
  const Result<std::string> bytes =
      co_await client_.read(etcd::kRangePath, framed_request(request), epoch.life);
  if (!bytes && bytes.error().code == Code::gone) co_return std::optional<Revision>();
  if (!bytes) co_return fail(bytes.error());
  FL_CO_TRY(const etcd::RangeResponse response, etcd::decode_range_response(*bytes));
  const Revision now = response.header.revision;
  const bool same = !response.kvs.empty() && response.kvs.front().mod_revision == epoch.began &&
                    epoch.shown(now) >= seen;
  if (!same) {
    client_.doubt();
    co_return std::optional<Revision>();
  }
  if (client_.history().epoch().life != epoch.life) co_return std::optional<Revision>();
  want(now);
  co_return epoch.shown(now);
}

// Whoever watches has seen what never was, or will not be told of what is.
void EtcdStore::change_epoch() {
  wanted_ = known_event_ = 0;
  if (feed_) feed_->end({Code::gone, "etcd was restored"});
}

Task<Result<std::optional<KeyValue>>> EtcdStore::get(std::string key) {
  FL_CO_TRY(const EtcdEpoch epoch, co_await client_.epoch());
  const std::string etcd_key = keys_.data(key);
  const etcd::RangeRequest request{.key = etcd_key, .limit = 1};
  FL_CO_TRY(const std::string bytes,
            co_await client_.read(etcd::kRangePath, framed_request(request), epoch.life));
  FL_CO_TRY(const etcd::RangeResponse response, etcd::decode_range_response(bytes));
  if (response.kvs.empty()) co_return std::optional<KeyValue>();
  FL_CO_TRY(KeyValue found, open_key_value(key, response.kvs.front()));
  show(found, epoch);
  co_return std::optional<KeyValue>(std::move(found));
}

Task<Result<Listing>> EtcdStore::list(std::string prefix, ListOptions options) {
  if (options.at < 0) co_return fail(Code::invalid, "list at a negative revision");
  for (int attempt = 1;; ++attempt) {
    Result<Listing> listing = co_await list_once(prefix, options);
    const bool overtaken = !listing && listing.error().code == Code::gone && options.at == 0;
    if (!overtaken || attempt == kListAttempts) co_return listing;
  }
}

Task<Result<Listing>> EtcdStore::list_once(std::string prefix, ListOptions options) {
  FL_CO_TRY(const EtcdEpoch epoch, co_await client_.epoch());
  if (options.at != 0 && options.at < epoch.oldest())
    co_return fail(Code::gone,
                   fmt::format("revision {} lies before the restore of etcd", options.at));
  Revision at = options.at == 0 ? 0 : epoch.in_etcd(options.at);  // a revision of etcd
  Listing listing;
  const std::string end = keys_.data_end(prefix);
  const bool resume = !options.after.empty() && options.after >= prefix;
  std::string start = keys_.data(resume ? options.after + '\0' : prefix);
  for (std::size_t page = kFirstPage;;) {
    const std::size_t missing = options.limit - listing.items.size();
    const std::size_t limit = options.limit == 0 ? page : std::min(page, missing);
    const etcd::RangeRequest request{
        .key = start, .range_end = end, .limit = static_cast<std::int64_t>(limit), .revision = at};
    const Result<std::string> bytes =
        co_await client_.read(etcd::kRangePath, framed_request(request), epoch.life);
    if (!bytes && bytes.error().code == Code::exhausted && limit > 1) {
      page = std::max<std::size_t>(limit / 16, 1);  // small values, then huge ones
      continue;
    }
    if (!bytes) co_return fail(bytes.error());
    FL_CO_TRY(const etcd::RangeResponse response, etcd::decode_range_response(*bytes));
    if (at == 0) at = response.header.revision;
    listing.revision = epoch.shown(at);
    for (const etcd::KeyValue& kv : response.kvs) {
      const auto key = keys_.key_of(kv.key);
      if (!key) co_return fail(Code::corrupt, "etcd answered with a key outside the range");
      FL_CO_TRY(KeyValue item, open_key_value(*key, kv));
      show(item, epoch);
      listing.items.push_back(std::move(item));
    }
    if (!response.more || response.kvs.empty()) co_return listing;
    if (options.limit != 0 && listing.items.size() >= options.limit) {
      listing.more = true;
      co_return listing;
    }
    start = std::string(response.kvs.back().key) + '\0';
    page = next_page(page, response.kvs.size(), bytes->size());
  }
}

Task<Result<Committed>> EtcdStore::commit(Transaction transaction) {
  FL_CO_CHECKED(validate(transaction));
  FL_CO_TRY(const EtcdEpoch epoch, co_await client_.epoch());
  for (Compare& compare : transaction.compares) {
    if (compare.modified <= 0) continue;
    compare.modified = epoch.in_etcd(compare.modified);
    if (compare.modified <= 0)
      co_return fail(Code::conflict, printable(compare.key) + " was restored with all of etcd");
  }
  const bool changes = !transaction.operations.empty();
  FL_CO_TRY(Committed committed, co_await commits_.commit(std::move(transaction), epoch.life));
  if (client_.history().epoch().life != epoch.life)
    co_return fail(Code::timeout, "fate unknown: etcd was restored meanwhile");
  if (changes) known_event_ = std::max(known_event_, committed.revision);
  want(committed.revision);
  committed.revision = epoch.shown(committed.revision);
  co_return committed;
}

Task<Result<>> EtcdStore::compact(Revision before) {
  FL_CO_TRY(const EtcdEpoch epoch, co_await client_.epoch());
  if (before <= epoch.oldest()) co_return Result<>{};
  std::string request =
      framed_request(etcd::CompactRequest{.revision = epoch.in_etcd(before), .physical = false});
  const Result<std::string> bytes =
      co_await client_.write(etcd::kCompactPath, std::move(request), epoch.life);
  if (bytes || bytes.error().code == Code::gone) co_return Result<>{};  // gone: done before
  co_return fail(bytes.error());
}

Task<Result<CompactionTurn>> EtcdStore::compact_in_turn(CompactionTurn last) {
  FL_CO_TRY(const EtcdEpoch epoch, co_await client_.epoch());
  const std::string text = std::to_string(last.revision);
  etcd::TxnRequest request;
  request.compares.push_back(
      {.target = etcd::Compare::Target::version, .key = keys_.compaction(), .operand = last.turn});
  request.success.emplace_back(etcd::PutRequest{.key = keys_.compaction(), .value = text});
  request.failure.emplace_back(etcd::RangeRequest{.key = keys_.compaction(), .limit = 1});
  FL_CO_TRY(const std::string bytes,
            co_await client_.write(etcd::kTxnPath, framed_request(request), epoch.life));
  FL_CO_TRY(const etcd::TxnResponse response, etcd::decode_txn_response(bytes));
  const Revision now = epoch.shown(response.header.revision);
  if (response.succeeded) {
    if (last.revision > 0) {
      FL_CO_CHECKED(co_await compact(last.revision));
    }
    co_return CompactionTurn{.turn = last.turn + 1, .revision = now};
  }
  // Another server had this turn; go by its count from now on.
  const auto* found = response.responses.empty()
                          ? nullptr
                          : std::get_if<etcd::RangeResponse>(&response.responses.front());
  if (!found || found->kvs.empty()) co_return CompactionTurn{.turn = 0, .revision = now};
  co_return CompactionTurn{.turn = found->kvs.front().version, .revision = now};
}

Task<Result<EtcdStatus>> EtcdStore::status() {
  FL_CO_TRY(const std::string bytes,
            co_await client_.read(etcd::kStatusPath, wire::frame_grpc_message("")));
  FL_CO_TRY(const etcd::StatusResponse response, etcd::decode_status_response(bytes));
  co_return EtcdStatus{.version = std::string(response.version),
                       .database_bytes = response.db_size,
                       .database_bytes_in_use = response.db_size_in_use,
                       .has_leader = response.leader != 0,
                       .leads = response.leader == response.header.member_id,
                       .alarms = {response.errors.begin(), response.errors.end()}};
}

}  // namespace fairlead::store
