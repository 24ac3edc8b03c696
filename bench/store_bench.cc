// How many durable creates a store takes per second, and how long each waits: SqliteStore in DIR,
// or with --etcd an EtcdStore on that cluster (the peer's own speed, without our server before it).
//
//   store_bench [--dir DIR | --etcd http://127.0.0.1:2379] [--fibers 64] [--seconds 5]
//               [--value 600] [--keys random|sequential]
//
// Every create is one transaction: its key must not exist, and a second key must be unchanged, as a
// create in a namespace is. DIR should be on the disk that is to be measured. The cost of a sync
// there is printed beside the result, because it decides nearly everything.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "api/store/etcd/etcd_store.h"
#include "api/store/sqlite/sqlite_store.h"
#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::store {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string directory = ".";
  std::string etcd;
  int fibers = 64;
  int seconds = 5;
  std::size_t value = 600;
  bool random_keys = true;
};

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

double percentile(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

class Load {
 public:
  Load(runtime::EpollRuntime& runtime, Store& store, const Settings& settings)
      : runtime_(runtime), store_(store), settings_(settings) {}

  Task<void> run() {
    Transaction first;
    first.operations.push_back(
        {Operation::Kind::put, "/registry/namespaces/n", Bytes(std::string("n"))});
    const Result<Committed> made = co_await store_.commit(std::move(first));
    if (!made) {
      fmt::print(stderr, "{}\n", made.error().to_string());
      std::exit(1);
    }
    guard_ = made->revision;
    started_ = Clock::now();
    end_ = started_ + std::chrono::seconds(settings_.seconds);
    runtime::Scope scope(runtime_);
    for (int i = 0; i < settings_.fibers; ++i) scope.spawn(create_until_end());
    co_await scope.join();
    report();
  }

  // A figure in which creates failed, or none was made, is none.
  int exit_status() const { return failures_ == 0 && !waits_.empty() ? 0 : 1; }

 private:
  Task<void> create_until_end() {
    const std::string value(settings_.value, 'v');
    while (Clock::now() < end_) {
      const Clock::time_point asked = Clock::now();
      const std::uint64_t number = settings_.random_keys ? runtime_.random() : serial_++;
      Transaction transaction;
      const std::string key =
          fmt::format("/registry/fairlead.dev/networkattachments/n/{:016x}", number);
      transaction.compares.push_back({key, 0});
      transaction.compares.push_back({"/registry/namespaces/n", guard_});
      transaction.operations.push_back({Operation::Kind::put, key, Bytes(std::string(value))});
      const Result<Committed> committed = co_await store_.commit(std::move(transaction));
      if (!committed) {
        fmt::print(stderr, "{}\n", committed.error().to_string());
        ++failures_;
        co_return;
      }
      waits_.push_back(milliseconds(Clock::now() - asked));
    }
  }

  void report() {
    const double seconds = milliseconds(Clock::now() - started_) / 1'000;
    const double count = static_cast<double>(waits_.size());
    std::ranges::sort(waits_);
    fmt::print("creates {:.0f}/s  p50 {:.2f} ms  p99 {:.2f} ms  longest {:.2f} ms\n",
               count / seconds, percentile(waits_, 0.5), percentile(waits_, 0.99),
               percentile(waits_, 1));
  }

  runtime::EpollRuntime& runtime_;
  Store& store_;
  Settings settings_;
  Revision guard_ = 0;
  std::uint64_t serial_ = 0;
  Clock::time_point started_;
  Clock::time_point end_;
  std::vector<double> waits_;
  int failures_ = 0;
};

void report_batches(const SqliteStore& store, int seconds) {
  const CommitStats& stats = store.stats();
  fmt::print("batches {:.0f}/s of {:.1f}, longest {:.1f} ms; log {} pages\n",
             static_cast<double>(stats.batches) / seconds,
             static_cast<double>(stats.transactions) / static_cast<double>(stats.batches),
             milliseconds(stats.longest_batch), stats.wal_pages);
  const CheckpointStats& checkpoints = store.checkpoint_stats();
  fmt::print("checkpoints {}, longest wait for one {:.1f} ms\n", checkpoints.completed,
             milliseconds(checkpoints.longest_turn));
}

// What one write and sync costs there, without SQLite: 64 KiB over bytes that exist.
void report_sync_cost(const std::string& directory) {
  const std::string name = directory + "/sync-cost";
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::string block(65'536, 's');
  std::vector<double> costs;
  for (int round = 0; file >= 0 && round < 110; ++round) {
    const Clock::time_point started = Clock::now();
    const off_t offset = static_cast<off_t>(block.size()) * (round < 10 ? round : round % 10);
    if (::pwrite(file, block.data(), block.size(), offset) < 0 || ::fdatasync(file) != 0) break;
    if (round >= 10) costs.push_back(milliseconds(Clock::now() - started));
  }
  if (file >= 0) ::close(file);
  std::ranges::sort(costs);
  fmt::print("sync of 64 KiB: p50 {:.2f} ms  p99 {:.2f} ms\n", percentile(costs, 0.5),
             percentile(costs, 0.99));
}

int run_etcd(const Settings& settings) {
  const Result<EtcdAddresses> addresses = parse_etcd_addresses(settings.etcd);
  if (!addresses || addresses->tls) {
    fmt::print(stderr, "--etcd: wants http://host:port\n");
    return 1;
  }
  runtime::EpollRuntime runtime;
  EtcdStore store(runtime, {.endpoints = addresses->endpoints, .root = "/store-bench/"});
  Load load(runtime, store, settings);
  runtime.run_until_complete(load.run());
  return load.exit_status();
}

int run_sqlite(const Settings& settings) {
  std::string name = settings.directory + "/store-bench-XXXXXX";
  if (!::mkdtemp(name.data())) {
    fmt::print(stderr, "cannot make a folder in {}\n", settings.directory);
    return 1;
  }
  report_sync_cost(name);
  int status = 0;
  {
    runtime::EpollRuntime runtime;
    Result<std::unique_ptr<SqliteStore>> store =
        SqliteStore::open(runtime, {.directory = name, .vfs = {}, .on_fatal = {}});
    if (!store) {
      fmt::print(stderr, "{}\n", store.error().to_string());
      return 1;
    }
    Load load(runtime, **store, settings);
    runtime.run_until_complete(load.run());
    status = load.exit_status();
    report_batches(**store, settings.seconds);
    runtime.run_until_complete((*store)->close());
  }
  std::filesystem::remove_all(name);
  return status;
}

}  // namespace
}  // namespace fairlead::store

int main(int count, char** arguments) {
  fairlead::store::Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string flag = arguments[i];
    const std::string value = arguments[i + 1];
    if (flag == "--dir") settings.directory = value;
    if (flag == "--etcd") settings.etcd = value;
    if (flag == "--fibers") settings.fibers = std::stoi(value);
    if (flag == "--seconds") settings.seconds = std::stoi(value);
    if (flag == "--value") settings.value = std::stoul(value);
    if (flag == "--keys") settings.random_keys = value == "random";
  }
  return settings.etcd.empty() ? fairlead::store::run_sqlite(settings)
                               : fairlead::store::run_etcd(settings);
}
