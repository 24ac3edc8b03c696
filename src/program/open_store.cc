#include "program/open_store.h"

#include <algorithm>

#include "api/identity/authority.h"
#include "api/store/data_directory.h"
#include "api/store/etcd/etcd_store.h"
#include "api/store/etcd/seen_revision.h"
#include "api/store/measured_store.h"
#include "api/store/memory_store.h"
#include "api/store/sqlite/sqlite_store.h"
#include "foundation/base/log.h"

namespace fairlead::program {
namespace {

Task<void> nothing_to_close() { co_return; }
Task<void> nothing_to_keep() { co_return; }

Task<void> close_etcd(store::EtcdStore& store, std::shared_ptr<store::SeenRevision> seen) {
  const Result<> written = co_await seen->write(store.seen());
  if (!written) log::warning("revision not kept", {{"error", written.error().to_string()}});
}

Task<void> keep_seen(store::EtcdStore& store, std::shared_ptr<store::SeenRevision> seen) {
  std::function<store::Revision()> newest = [&store] { return store.seen(); };
  co_await seen->keep(std::move(newest));
}

Task<void> close_sqlite(store::SqliteStore& store) { co_await store.close(); }

// One server: it remembers where it stood a period ago.
Task<Result<>> compact_to_last(store::Store& store, std::shared_ptr<store::Revision> last) {
  FL_CO_TRY(const store::Revision now, co_await store.revision());
  const store::Revision before = std::exchange(*last, now);
  if (before == 0) co_return Result<>{};
  co_return co_await store.compact(before);
}

Task<Result<>> compact_in_turn(store::EtcdStore& store,
                               std::shared_ptr<store::CompactionTurn> turn) {
  FL_CO_TRY(*turn, co_await store.compact_in_turn(*turn));
  co_return Result<>{};
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Result<OpenedStore> open_sqlite(runtime::Runtime& runtime, const std::string& folder,
                                metrics::Registry& metrics) {
  FL_TRY(std::unique_ptr<store::SqliteStore> sqlite,
         store::SqliteStore::open(runtime, {.directory = folder}));
  store::SqliteStore& store = *sqlite;
  metrics.counter_of("fairlead_store_commit_batches_total", "Commits made to disk, one sync each.",
                     [&store] { return static_cast<double>(store.stats().batches); });
  metrics.counter_of("fairlead_store_transactions_total", "Transactions in those commits.",
                     [&store] { return static_cast<double>(store.stats().transactions); });
  metrics.gauge_of("fairlead_store_last_commit_seconds", "How long the last commit took.",
                   [&store] { return seconds(store.stats().last_batch); });
  metrics.gauge_of("fairlead_store_longest_commit_seconds", "How long the longest commit took.",
                   [&store] { return seconds(store.stats().longest_batch); });
  auto last = std::make_shared<store::Revision>(0);
  return OpenedStore{.store = std::move(sqlite),
                     .description = "sqlite:" + folder,
                     .close = [&store] { return close_sqlite(store); },
                     .compact = [&store, last] { return compact_to_last(store, last); },
                     .keep = nothing_to_keep,
                     .folder_lock = nullptr};
}

Result<std::shared_ptr<const runtime::TlsSource>> etcd_tls(runtime::Files& files,
                                                           const ServerFlags& flags) {
  runtime::TlsCredentials credentials;
  credentials.alpn = {"h2"};
  const auto read = [&](std::string& into, const std::string& path,
                        std::string_view flag) -> Result<> {
    if (path.empty()) return {};
    Result<std::string> text = files.read(path);
    if (!text) return fail(std::move(text).error().context(flag));
    into = std::move(*text);
    return {};
  };
  FL_CHECKED(read(credentials.trusted_ca, flags.etcd_ca, "--etcd-ca"));
  FL_CHECKED(read(credentials.certificate_chain, flags.etcd_cert, "--etcd-cert"));
  FL_CHECKED(read(credentials.private_key, flags.etcd_key, "--etcd-key"));
  return std::make_shared<identity::SwappableTls>(std::move(credentials));
}

Result<OpenedStore> open_etcd(runtime::Runtime& runtime, const ServerConfig& config,
                              metrics::Registry& metrics, store::Revision seen) {
  Result<store::EtcdAddresses> addresses = store::parse_etcd_addresses(config.store.location);
  if (!addresses) return fail(std::move(addresses).error().context("--store"));
  store::EtcdOptions options{.endpoints = std::move(addresses->endpoints),
                             .tls = nullptr,
                             .root = config.flags.etcd_prefix};
  if (addresses->tls) {
    FL_TRY(options.tls, etcd_tls(runtime.files(), config.flags));
  }
  FL_TRY(store::DataDirectory folder, store::DataDirectory::open(config.flags.data));
  auto kept = std::make_shared<store::SeenRevision>(runtime, config.flags.data);
  FL_TRY(const store::Revision seen_here, kept->read());
  options.seen = std::max(seen, seen_here);
  auto etcd = std::make_unique<store::EtcdStore>(runtime, std::move(options));
  store::EtcdStore& store = *etcd;
  metrics.counter_of("fairlead_store_reads_total", "Reads from etcd.",
                     [&store] { return static_cast<double>(store.counters().reads.count); });
  metrics.counter_of("fairlead_store_read_seconds_total", "Time spent in reads from etcd.",
                     [&store] { return seconds(store.counters().reads.total); });
  metrics.counter_of("fairlead_store_transactions_total", "Transactions committed to etcd.",
                     [&store] { return static_cast<double>(store.counters().transactions); });
  metrics.counter_of("fairlead_store_commits_total", "Calls to etcd that carried transactions.",
                     [&store] { return static_cast<double>(store.counters().groups); });
  metrics.counter_of("fairlead_store_transaction_seconds_total", "Time spent in commits to etcd.",
                     [&store] { return seconds(store.counters().writes.total); });
  metrics.counter_of("fairlead_store_conflicts_total", "Transactions whose compares did not hold.",
                     [&store] { return static_cast<double>(store.counters().conflicts); });
  metrics.counter_of("fairlead_store_unknown_writes_total", "Writes whose fate is not known.",
                     [&store] { return static_cast<double>(store.counters().unknown_writes); });
  metrics.counter_of("fairlead_store_member_switches_total", "Calls moved to another etcd member.",
                     [&store] { return static_cast<double>(store.counters().member_switches); });
  metrics.counter_of("fairlead_store_restores_total",
                     "Restores of etcd that this server noticed first and answered with a new "
                     "epoch of resource versions.",
                     [&store] { return static_cast<double>(store.restores()); });
  auto turn = std::make_shared<store::CompactionTurn>();
  return OpenedStore{.store = std::move(etcd),
                     .description = "etcd:" + config.store.location,
                     .close = [&store, kept] { return close_etcd(store, kept); },
                     .compact = [&store, turn] { return compact_in_turn(store, turn); },
                     .keep = [&store, kept] { return keep_seen(store, kept); },
                     .folder_lock = std::make_shared<store::DataDirectory>(std::move(folder))};
}

Result<OpenedStore> open_memory(runtime::Runtime& runtime, const ServerConfig& config) {
  FL_TRY(store::DataDirectory folder, store::DataDirectory::open(config.flags.data));
  OpenedStore opened = used_alone(std::make_unique<store::MemoryStore>(runtime),
                                  "memory (nothing survives a restart)");
  opened.folder_lock = std::make_shared<store::DataDirectory>(std::move(folder));
  return opened;
}

Result<OpenedStore> open_chosen(runtime::Runtime& runtime, const ServerConfig& config,
                                metrics::Registry& metrics, store::Revision seen) {
  switch (config.store.kind) {
    case StoreChoice::Kind::sqlite:
      return open_sqlite(runtime, config.store.location, metrics);
    case StoreChoice::Kind::etcd:
      return open_etcd(runtime, config, metrics, seen);
    case StoreChoice::Kind::memory:
      return open_memory(runtime, config);
  }
  return fail(Code::internal, "unknown store");
}

}  // namespace

OpenedStore used_alone(std::unique_ptr<store::Store> store, std::string description) {
  store::Store& used = *store;
  auto last = std::make_shared<store::Revision>(0);
  return OpenedStore{.store = std::move(store),
                     .description = std::move(description),
                     .close = nothing_to_close,
                     .compact = [&used, last] { return compact_to_last(used, last); },
                     .keep = nothing_to_keep,
                     .folder_lock = nullptr};
}

Result<OpenedStore> open_store(runtime::Runtime& runtime, const ServerConfig& config,
                               metrics::Registry& metrics, store::Revision seen) {
  FL_TRY(OpenedStore opened, open_chosen(runtime, config, metrics, seen));
  opened.store = std::make_unique<store::MeasuredStore>(runtime, std::move(opened.store), metrics);
  return opened;
}

}  // namespace fairlead::program
