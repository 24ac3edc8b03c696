#include "api/store/sqlite/sqlite_store.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/store/data_directory.h"
#include "api/store/sqlite/schema.h"
#include "api/store/sqlite/writer.h"
#include "api/store/transaction.h"
#include "foundation/base/log.h"

namespace fairlead::store {
namespace {

// The writer with the folder it holds: whoever still uses the one keeps the lock on the other.
struct OwnedWriter {
  std::optional<DataDirectory> directory;
  SqliteWriter writer;
};

void end_process(const std::string& why) {
  log::error("the store cannot know what is on disk, ending the process", {{"reason", why}});
  std::abort();
}

}  // namespace

class SqliteStore::SqliteWatch final : public Watch {
 public:
  SqliteWatch(SqliteStore& store, std::string prefix, Revision after)
      : store_(store), prefix_(std::move(prefix)), after_(after) {}

  Task<Result<ChangeBatch>> next() override {
    while (after_ >= store_.log_.head()) {
      FL_CO_CHECKED(store_.check_not_lost());
      auto changed = store_.changed_.wait();
      FL_CO_CHECKED(co_await changed);
    }
    FL_CO_CHECKED(store_.check_not_lost());
    if (after_ + 1 < store_.compacted_)
      co_return fail(Code::gone, fmt::format("changes after revision {} were compacted", after_));
    if (after_ < store_.log_.floor()) {
      FL_CO_TRY(ChangeBatch batch, co_await read_database());
      after_ = batch.revision;
      co_return batch;
    }
    ChangeBatch batch = store_.log_.read(prefix_, after_);
    after_ = batch.revision;
    co_return batch;
  }

 private:
  Task<Result<ChangeBatch>> read_database() {
    const Revision upto = store_.log_.head();
    auto work = [prefix = prefix_, after = after_, upto](SqliteReader& reader) {
      return reader.changes(prefix, after, upto);
    };
    co_return co_await store_.read(std::move(work));
  }

  SqliteStore& store_;
  std::string prefix_;
  Revision after_;
};

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(runtime::Runtime& runtime,
                                                       SqliteOptions options) {
  DatabaseOptions database;
  database.path = DataDirectory::database_in(options.directory);
  database.vfs = options.vfs;
  database.max_bytes = options.max_database_bytes;
  std::optional<DataDirectory> directory;
  if (options.vfs.empty()) {
    FL_TRY(DataDirectory locked, DataDirectory::open(options.directory));
    directory.emplace(std::move(locked));
  }
  Result<SqliteWriter> opened = SqliteWriter::open(database);
  if (!opened) return fail(opened.error().context(options.directory));
  auto owned = std::make_shared<OwnedWriter>(std::move(directory), std::move(*opened));
  std::shared_ptr<SqliteWriter> writer(owned, &owned->writer);
  std::unique_ptr<SqliteStore> store(new SqliteStore(runtime, std::move(options), *writer));
  FL_CHECKED(store->start(std::move(writer), database));
  return store;
}

SqliteStore::SqliteStore(runtime::Runtime& runtime, SqliteOptions options,
                         const SqliteWriter& writer)
    : runtime_(runtime),
      options_(std::move(options)),
      log_(writer.head()),
      compacted_(writer.compacted()) {
  if (!options_.on_fatal) options_.on_fatal = end_process;
}

SqliteStore::~SqliteStore() = default;

Result<> SqliteStore::start(std::shared_ptr<SqliteWriter> writer, const DatabaseOptions& database) {
  for (std::size_t i = 0; i < kReaders; ++i) {
    FL_TRY(SqliteReader reader, SqliteReader::open(database));
    idle_readers_.try_send(std::make_shared<SqliteReader>(std::move(reader)));
  }
  GroupCommit::Hooks hooks;
  hooks.publish = [this](std::vector<CommittedChanges> changes) { publish(std::move(changes)); };
  hooks.lost = [this](const std::string& why) { lose(why); };
  hooks.has_room = [](std::size_t) { return true; };
  if (options_.vfs.empty()) {
    // Pages and log together take a few times the bytes of the batch.
    hooks.has_room = [path = options_.directory, reserve = options_.reserve_bytes](
                         std::size_t bytes) { return free_bytes(path) >= reserve + 8 * bytes; };
  }
  FL_TRY(Database checkpoints, Database::open(database));
  FL_CHECKED(configure_connection(checkpoints));
  commits_ = std::make_shared<GroupCommit>(runtime_, std::move(writer),
                                           std::make_shared<Database>(std::move(checkpoints)),
                                           options_.checkpoint_pages, std::move(hooks));
  return {};
}

Result<> SqliteStore::check_not_lost() const {
  if (lost_.empty()) return {};
  return fail(Code::unavailable, "the store is lost: " + lost_);
}

Task<Result<Revision>> SqliteStore::revision() {
  FL_CO_CHECKED(check_not_lost());
  co_return log_.head();
}

std::optional<Revision> SqliteStore::revision_now() const {
  if (!lost_.empty()) return std::nullopt;  // revision() says why
  return log_.head();
}

template <class Work>
auto SqliteStore::read(Work work) -> Task<decltype(work(std::declval<SqliteReader&>()))> {
  FL_CO_CHECKED(check_not_lost());
  FL_CO_TRY(std::shared_ptr<SqliteReader> reader, co_await idle_readers_.receive());
  auto job = [reader, work = std::move(work)] { return work(*reader); };
  auto result = co_await runtime::blocking(runtime_, std::move(job));
  idle_readers_.try_send(std::move(reader));
  co_return result;
}

Task<Result<std::optional<KeyValue>>> SqliteStore::get(std::string key) {
  for (;;) {
    const Revision at = log_.head();
    auto work = [key, at](SqliteReader& reader) { return reader.get(key, at); };
    Result<std::optional<KeyValue>> found = co_await read(std::move(work));
    // Compaction may overtake a read of the present; the present is then a later one.
    if (!found && found.error().code == Code::gone && at < log_.head()) continue;
    co_return found;
  }
}

Task<Result<Listing>> SqliteStore::list(std::string prefix, ListOptions options) {
  if (options.at < 0 || options.at > log_.head())
    co_return fail(Code::invalid,
                   fmt::format("revision {} lies in the future of {}", options.at, log_.head()));
  for (;;) {
    const Revision at = options.at == 0 ? log_.head() : options.at;
    auto work = [prefix, options, at](SqliteReader& reader) {
      return reader.list(prefix, at, options.after, options.limit);
    };
    Result<Listing> listing = co_await read(std::move(work));
    const bool overtaken = !listing && listing.error().code == Code::gone && options.at == 0;
    if (overtaken && at < log_.head()) continue;
    co_return listing;
  }
}

Task<Result<Committed>> SqliteStore::commit(Transaction transaction) {
  FL_CO_CHECKED(validate(transaction));
  co_return co_await commits_->commit(std::move(transaction));
}

Result<std::unique_ptr<Watch>> SqliteStore::watch(std::string prefix, Revision after) {
  FL_CHECKED(check_not_lost());
  if (after < 0) return fail(Code::invalid, fmt::format("watch after revision {}", after));
  return std::make_unique<SqliteWatch>(*this, std::move(prefix), after);
}

Task<Result<>> SqliteStore::compact(Revision before) {
  if (before > log_.head())
    co_return fail(Code::invalid,
                   fmt::format("revision {} lies in the future of {}", before, log_.head()));
  if (before > compacted_) {
    GroupCommit::Upkeep mark = [before](SqliteWriter& writer) {
      return writer.compacted() < before ? writer.set_compacted(before) : Written();
    };
    FL_CO_CHECKED(co_await commits_->with_writer(std::move(mark)));
    compacted_ = std::max(compacted_, before);
  }
  // In steps, so that no commit waits long for it.
  auto more = std::make_shared<bool>(true);
  while (*more) {
    GroupCommit::Upkeep step = [more](SqliteWriter& writer) { return writer.sweep(*more); };
    FL_CO_CHECKED(co_await commits_->with_writer(std::move(step)));
  }
  co_return Result<>{};
}

Task<void> SqliteStore::close() { co_await commits_->close(); }

void SqliteStore::publish(std::vector<CommittedChanges> changes) {
  for (CommittedChanges& made : changes) log_.append(made.revision, std::move(made.changes));
  while ((log_.size() > options_.log_changes || log_.bytes() > options_.log_bytes) &&
         log_.oldest() < log_.head())
    log_.forget_oldest();
  changed_.notify();
}

void SqliteStore::lose(const std::string& why) {
  lost_ = why;
  options_.on_fatal(why);
  changed_.notify();
}

}  // namespace fairlead::store
