// A small durable key-value server on SQLite in the virtual world: clients write through streams
// while the server is killed, loses power inside commits, is paused and cut off. Promise 5 in
// miniature, and the pattern for larger scenarios.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "runtime/runtime.h"
#include "runtime/scope.h"
#include "sim/checkers.h"
#include "sim/faults.h"
#include "sim/seeds.h"
#include "sim/sqlite_vfs.h"
#include "sim/world.h"

namespace fairlead::sim {
namespace {

using runtime::Endpoint;
using runtime::sleep;
using runtime::Stream;

class Table {
 public:
  Table(const std::string& vfs, const std::string& synchronous) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3_open_v2("data.db", &db_, kFlags, vfs.c_str());
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=" + synchronous);
    run("CREATE TABLE IF NOT EXISTS kv(key TEXT PRIMARY KEY, version INT, value TEXT)");
    for (const auto& [key, stored] : contents()) version_ = std::max(version_, stored.version);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { sqlite3_close(db_); }

  // The version it got, or 0.
  std::uint64_t put(const std::string& key, const std::string& value) {
    const std::uint64_t version = version_ + 1;
    if (!run(fmt::format("INSERT OR REPLACE INTO kv VALUES('{}',{},'{}')", key, version, value)))
      return 0;
    return version_ = version;
  }
  std::map<std::string, DurabilityChecker::Stored> contents() {
    std::map<std::string, DurabilityChecker::Stored> all;
    // A database that was not synced may hold anything.
    const auto add = [](void* into, int, char** row, char**) {
      if (!row[0] || !row[1] || !row[2]) return 0;
      const std::uint64_t version = std::strtoull(row[1], nullptr, 10);
      (*static_cast<decltype(&all)>(into))[row[0]] = {version, row[2]};
      return 0;
    };
    sqlite3_exec(db_, "SELECT key, version, value FROM kv", add, &all, nullptr);
    return all;
  }

 private:
  bool run(const std::string& sql) {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  sqlite3* db_ = nullptr;
  std::uint64_t version_ = 0;
};

// One request at a time: "key value\n" is answered with "version\n". A failed commit ends the
// process.
Task<void> serve_client(Machine& machine, std::unique_ptr<Stream> stream, Table& table) {
  std::string received;
  std::array<char, 256> buffer;
  for (;;) {
    const Result<std::size_t> n = co_await stream->read(buffer);
    if (!n || *n == 0) co_return;
    received.append(buffer.data(), *n);
    const std::size_t end = received.find('\n');
    if (end == std::string::npos) continue;
    const std::size_t space = received.find(' ');
    const std::string key = received.substr(0, space);
    const std::string value = received.substr(space + 1, end - space - 1);
    received.erase(0, end + 1);
    const auto work = [&table, &key, &value] { return table.put(key, value); };
    const std::uint64_t version = co_await runtime::blocking(machine, work);
    if (version == 0) {
      machine.crash(Crash::kill());
      co_return;
    }
    const std::string reply = std::to_string(version) + "\n";
    if (!co_await stream->write(reply)) co_return;
  }
}

Task<void> serve(Machine& machine, std::string vfs, std::string synchronous) {
  Table table(vfs, synchronous);
  auto listener = machine.listen({.host = "0.0.0.0", .port = 7}, nullptr);
  CHECK(listener.has_value());
  runtime::Scope scope(machine);
  for (;;) {
    Result<std::unique_ptr<Stream>> stream = co_await (*listener)->accept();
    if (!stream) co_return;
    scope.spawn(serve_client(machine, std::move(*stream), table));
  }
}

Task<Result<std::uint64_t>> put(Stream& stream, std::string key, std::string value) {
  const std::string request = key + " " + value + "\n";
  FL_CO_CHECKED(co_await stream.write(request));
  std::string reply;
  std::array<char, 64> buffer;
  while (!reply.ends_with('\n')) {
    FL_CO_TRY(const std::size_t n, co_await stream.read(buffer));
    if (n == 0) co_return fail(Code::unavailable, "server hung up");
    reply.append(buffer.data(), n);
  }
  co_return std::stoull(reply);
}

// Writes its own keys one after the other and reconnects after every failure.
Task<void> write_keys(Machine& machine, DurabilityChecker& checker) {
  std::unique_ptr<Stream> stream;
  for (unsigned i = 0;; ++i) {
    if (!stream) {
      Result<std::unique_ptr<Stream>> connected = co_await runtime::with_timeout(
          machine, 2s, machine.connect({.host = "server", .port = 7}, nullptr));
      if (connected) stream = std::move(*connected);
    }
    if (stream) {
      const std::string key = fmt::format("{}-{}", machine.name(), i % 5);
      const std::string value = fmt::format("{}-{}", i, std::string(i % 300, 'x'));
      const DurabilityChecker::OperationId operation = checker.attempt(key, value);
      Result<std::uint64_t> version =
          co_await runtime::with_timeout(machine, 3s, put(*stream, key, value));
      if (version) {
        checker.acknowledged(operation, *version);
      } else {
        stream.reset();
      }
    }
    if (!co_await sleep(machine, 100ms)) co_return;
  }
}

Result<> write_through_faults(World& world, const std::string& synchronous) {
  Machine& server = world.add_machine("server");
  DurabilityChecker& checker = world.own<DurabilityChecker>();
  world.own<SqliteVfs>(server.disk(), "sim-server");
  server.start([synchronous](Machine& m) { return serve(m, "sim-server", synchronous); });
  for (const char* name : {"x", "y"})
    world.add_machine(name).start([&checker](Machine& m) { return write_keys(m, checker); });
  FaultSettings faults;
  faults.machines = {"server", "x", "y"};
  faults.kinds = {Fault::Kind::cut_both_ways, Fault::Kind::pause, Fault::Kind::kill,
                  Fault::Kind::power_loss, Fault::Kind::power_loss_in_write};
  faults.lasting = {.least = 50ms, .spread = 3s};
  faults.end = 30s;
  // Clients that crash would not remember what was acknowledged to them.
  std::vector<Fault> plan = plan_faults(world.random_stream("nemesis"), faults);
  std::erase_if(plan, [](const Fault& fault) {
    return fault.subject != "server" && fault.kind != Fault::Kind::cut_both_ways &&
           fault.kind != Fault::Kind::pause;
  });
  world.own<Nemesis>(world, std::move(plan), faults.end);
  world.run_for(33s);
  server.crash();
  server.restart([](Machine& m) -> Task<void> { co_await sleep(m, 1s); });
  if (checker.acknowledged_count() < 30) return fail(Code::internal, "hardly anything was written");
  return as_result(checker.check(Table("sim-server", synchronous).contents()));
}

// Nothing acknowledged is lost, whatever happens to the server and whenever.
TEST(Durability, AcknowledgedWritesSurviveFaults) {
  EXPECT_TRUE(run_seeds({.count = 20, .cost = 10},
                        [](World& world) { return write_through_faults(world, "FULL"); }));
}

// The scenario can fail: a server that does not sync is found out.
TEST(Durability, UnsyncedWritesAreFoundOut) {
  const SeedReport report = explore_seeds({.count = 10, .fixed_count = true}, [](World& world) {
    return write_through_faults(world, "OFF");
  });
  EXPECT_FALSE(report.passed());
}

}  // namespace
}  // namespace fairlead::sim
