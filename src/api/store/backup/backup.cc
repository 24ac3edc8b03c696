#include "api/store/backup/backup.h"

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/store/backup/file.h"
#include "api/store/data_directory.h"
#include "api/store/restored_revision.h"
#include "api/store/sqlite/writer.h"

namespace fairlead::store {
namespace {

// Writes one page of items, and the end after the last.
struct Page {
  std::shared_ptr<BackupFile> file;
  std::shared_ptr<BackupEncoder> encoder;
  Listing listing;
  bool first = false;

  Result<> write() const {
    std::string text;
    if (first) text += encoder->begin();
    for (const KeyValue& item : listing.items) text += encoder->item(item);
    if (!listing.more) text += encoder->end();
    FL_CHECKED(file->append(text));
    if (listing.more) return {};
    return file->commit();
  }
};

Task<Result<BackupSummary>> try_back_up(runtime::Runtime& runtime, Store& store, std::string path) {
  constexpr std::size_t kPageItems = 200;
  auto create = [path] { return BackupFile::create(path); };
  Result<BackupFile> created = co_await runtime::blocking(runtime, std::move(create));
  if (!created) co_return fail(created.error());
  Page page{.file = std::make_shared<BackupFile>(std::move(*created))};
  ListOptions options{.limit = kPageItems};
  do {
    FL_CO_TRY(page.listing, co_await store.list("", options));
    page.first = options.at == 0;
    if (page.first) page.encoder = std::make_shared<BackupEncoder>(page.listing.revision);
    options.at = page.listing.revision;
    if (!page.listing.items.empty()) options.after = page.listing.items.back().key;
    auto write = [page] { return page.write(); };
    FL_CO_CHECKED(co_await runtime::blocking(runtime, std::move(write)));
  } while (page.listing.more);
  co_return page.encoder->summary();
}

std::string_view failure(const Written& written) {
  if (!written.fatal.empty()) return written.fatal;
  return written.result ? std::string_view() : std::string_view(written.result.error().message);
}

// Some items of the file: by count and by size, for one transaction.
Result<std::vector<KeyValue>> take_some(BackupReader& reader, std::size_t most_items,
                                        std::size_t most_bytes) {
  std::vector<KeyValue> items;
  for (std::size_t bytes = 0; items.size() < most_items && bytes < most_bytes;) {
    FL_TRY(std::optional<KeyValue> item, reader.next());
    if (!item) break;
    bytes += item->key.size() + item->value.size();
    items.push_back(std::move(*item));
  }
  return items;
}

Result<BackupSummary> import_all(BackupReader& reader, SqliteWriter& writer, WallTime now) {
  for (;;) {
    FL_TRY(const std::vector<KeyValue> items, take_some(reader, 1'000, 4 << 20));
    if (items.empty()) break;
    const Written written = writer.import(items);
    if (!failure(written).empty()) return fail(Code::io, std::string(failure(written)));
  }
  const BackupSummary summary = reader.summary();
  const Written written = writer.finish_import(restored_revision(summary.revision, now));
  if (!failure(written).empty()) return fail(Code::io, std::string(failure(written)));
  FL_CHECKED(writer.check_integrity());
  return summary;
}

void remove_database(const std::string& path) {
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix, error);
}

// The transactions that create the items, none of them larger than a transaction may be.
std::vector<Transaction> creating(const std::vector<KeyValue>& items) {
  std::vector<Transaction> transactions;
  std::size_t bytes = 0;
  for (const KeyValue& item : items) {
    const std::size_t size = item.key.size() + item.value.size();
    if (transactions.empty() || bytes + size > Transaction::kMaxBytes ||
        transactions.back().operations.size() == Transaction::kMaxOperations) {
      transactions.emplace_back();
      bytes = 0;
    }
    bytes += size;
    transactions.back().compares.push_back({.key = item.key, .modified = 0});
    transactions.back().operations.push_back(
        {.kind = Operation::Kind::put, .key = item.key, .value = item.value});
  }
  return transactions;
}

}  // namespace

Task<Result<BackupSummary>> back_up(runtime::Runtime& runtime, Store& store, std::string path) {
  constexpr int kTries = 3;
  for (int tried = 1;; ++tried) {
    Result<BackupSummary> done = co_await try_back_up(runtime, store, path);
    // Compaction overtook the pages: begin again with a newer revision.
    if (!done && done.error().code == Code::gone && tried < kTries) continue;
    co_return done;
  }
}

Result<BackupSummary> verify_backup(const std::string& path) {
  FL_TRY(BackupReader reader, BackupReader::open(path));
  for (;;) {
    FL_TRY(const std::optional<KeyValue> item, reader.next());
    if (!item) return reader.summary();
  }
}

Result<BackupSummary> restore_sqlite(const std::string& path, const std::string& directory,
                                     WallTime now) {
  FL_CHECKED(verify_backup(path));
  FL_TRY(const DataDirectory locked, DataDirectory::open(directory));
  std::error_code error;
  if (std::filesystem::exists(locked.database(), error))
    return fail(Code::already_exists, fmt::format("{} holds a database already", directory));
  const std::string unfinished = locked.database() + ".restoring";
  remove_database(unfinished);
  FL_TRY(BackupReader reader, BackupReader::open(path));
  Result<BackupSummary> summary;
  {
    FL_TRY(SqliteWriter writer, SqliteWriter::open({.path = unfinished}));
    summary = import_all(reader, writer, now);
  }
  // Closing has copied the log into the database; with a log left, the rename would lose it.
  if (summary && std::filesystem::exists(unfinished + "-wal", error))
    summary = fail(Code::io, "the restored database could not be closed");
  if (!summary) {
    remove_database(unfinished);
    return summary;
  }
  std::filesystem::rename(unfinished, locked.database(), error);
  if (error) return fail(Code::io, fmt::format("rename {}: {}", unfinished, error.message()));
  FL_CHECKED(sync_directory(directory));
  return summary;
}

Task<Result<BackupSummary>> load_backup(runtime::Runtime& runtime, Store& store, std::string path) {
  auto verify = [path] { return verify_backup(path); };
  FL_CO_TRY(const BackupSummary summary, co_await runtime::blocking(runtime, std::move(verify)));
  const ListOptions any{.limit = 1};
  FL_CO_TRY(const Listing held, co_await store.list("", any));
  if (!held.items.empty())
    co_return fail(Code::already_exists, "the store to load the backup into is not empty");
  FL_CO_TRY(BackupReader opened, BackupReader::open(path));
  auto reader = std::make_shared<BackupReader>(std::move(opened));
  for (;;) {
    auto take = [reader] { return take_some(*reader, 1'000, 4 << 20); };
    FL_CO_TRY(const std::vector<KeyValue> items,
              co_await runtime::blocking(runtime, std::move(take)));
    if (items.empty()) break;
    for (Transaction& transaction : creating(items)) {
      FL_CO_CHECKED(co_await store.commit(std::move(transaction)));
    }
  }
  co_return summary;
}

}  // namespace fairlead::store
