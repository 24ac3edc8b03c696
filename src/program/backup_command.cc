// `fairlead server backup` and `fairlead server restore`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "api/backup/backup_download.h"
#include "api/store/backup/backup.h"
#include "api/store/data_directory.h"
#include "api/store/restored_revision.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "program/commands.h"
#include "program/open_store.h"

namespace fairlead::program {
namespace {

using Kind = StoreChoice::Kind;

struct BackupFlags {
  std::shared_ptr<ServerFlags> server;
  std::string file;
};

bool has_database(const StoreChoice& store) {
  std::error_code error;
  return std::filesystem::exists(store::DataDirectory::database_in(store.location), error);
}

// What a running server holds the lock of.
const std::string& locked_folder(const ServerConfig& config) {
  return config.store.kind == Kind::sqlite ? config.store.location : config.flags.data;
}

// Opening makes what is missing; a backup of a folder that was mistyped must not.
Result<> check_there_is_something(const ServerConfig& config) {
  std::error_code error;
  for (const std::string& folder : {config.flags.data, locked_folder(config)})
    if (!std::filesystem::is_directory(folder, error))
      return fail(Code::not_found, folder + ": there is no such folder (--data, --store)");
  return {};
}

Task<Result<store::BackupSummary>> back_up_directly(runtime::Runtime& runtime, OpenedStore& opened,
                                                    std::string file) {
  Result<store::BackupSummary> summary =
      co_await store::back_up(runtime, *opened.store, std::move(file));
  co_await opened.close();
  co_return summary;
}

Task<Result<store::BackupSummary>> back_up(runtime::Runtime& runtime, const ServerConfig& config,
                                           std::string file) {
  FL_CO_CHECKED(check_there_is_something(config));
  {
    // Whoever holds the folder is the server, and the server then makes the backup.
    const Result<store::DataDirectory> free = store::DataDirectory::open(locked_folder(config));
    if (!free && free.error().code != Code::unavailable) co_return fail(free.error());
    if (!free)
      co_return co_await backup::download_backup(runtime, config.flags.data, std::move(file));
  }
  if (config.store.kind == Kind::memory)
    co_return fail(Code::not_found, "--store memory: no server runs on " + config.flags.data +
                                        ", so there is nothing to back up");
  if (config.store.kind == Kind::sqlite && !has_database(config.store))
    co_return fail(Code::not_found, config.store.location +
                                        " holds no database, and no server runs on it (a server "
                                        "with another --store: give that flag here too)");
  metrics::Registry metrics;
  FL_CO_TRY(OpenedStore opened, open_store(runtime, config, metrics));
  co_return co_await back_up_directly(runtime, opened, std::move(file));
}

Task<Result<store::BackupSummary>> load(runtime::Runtime& runtime, OpenedStore& opened,
                                        std::string file) {
  Result<store::BackupSummary> summary =
      co_await store::load_backup(runtime, *opened.store, std::move(file));
  co_await opened.close();
  co_return summary;
}

Task<Result<store::BackupSummary>> restore(runtime::Runtime& runtime, const ServerConfig& config,
                                           std::string file) {
  if (config.store.kind == Kind::memory)
    co_return fail(Code::invalid, "--store memory: nothing would be left of what is restored");
  // Before anything is made: a wrong file changes nothing.
  FL_CO_TRY(const store::BackupSummary summary, store::verify_backup(file));
  const WallTime now = runtime.wall_now();
  if (config.store.kind == Kind::sqlite)
    co_return store::restore_sqlite(file, config.store.location, now);
  metrics::Registry metrics;
  const store::Revision seen = store::restored_revision(summary.revision, now);
  FL_CO_TRY(OpenedStore opened, open_store(runtime, config, metrics, seen));
  co_return co_await load(runtime, opened, std::move(file));
}

constexpr const char* kBackup = "fairlead server backup";
constexpr const char* kRestore = "fairlead server restore";

int run_backup(const BackupFlags& flags) {
  const Result<ServerConfig> config = check_flags(*flags.server);
  if (!config) return command::report(kBackup, config.error());
  runtime::EpollRuntime runtime;
  const Result<store::BackupSummary> summary =
      runtime.run_until_complete(back_up(runtime, *config, flags.file));
  if (!summary) return command::report(kBackup, summary.error());
  std::printf("%llu objects at revision %llu written to %s\n",
              static_cast<unsigned long long>(summary->items),
              static_cast<unsigned long long>(summary->revision), flags.file.c_str());
  return 0;
}

int run_restore(const BackupFlags& flags) {
  const Result<ServerConfig> config = check_flags(*flags.server);
  if (!config) return command::report(kRestore, config.error());
  runtime::EpollRuntime runtime;
  const Result<store::BackupSummary> summary =
      runtime.run_until_complete(restore(runtime, *config, flags.file));
  if (!summary) return command::report(kRestore, summary.error());
  std::printf("%llu objects of revision %llu restored\n",
              static_cast<unsigned long long>(summary->items),
              static_cast<unsigned long long>(summary->revision));
  std::error_code error;
  if (!std::filesystem::exists(config->flags.data + "/pki/ca.key", error))
    std::printf(
        "%s/pki holds no authority: copy the pki folder of the old server there before the first "
        "start, or all nodes must join again\n",
        config->flags.data.c_str());
  return 0;
}

}  // namespace

void add_backup_commands(CLI::App& server, std::shared_ptr<ServerFlags> server_flags,
                         int& exit_status) {
  auto flags = std::make_shared<BackupFlags>(BackupFlags{std::move(server_flags), {}});
  CLI::App* backup = server.add_subcommand(
      "backup", "Writes everything in the store to a file, while the server runs or not.");
  CLI::App* restore = server.add_subcommand(
      "restore", "Fills an empty store from such a file. The server must not be running.");
  for (CLI::App* command : {backup, restore}) {
    command->add_option("--data", flags->server->data, "The server's folder");
    add_store_flags(*command, *flags->server);
    command->add_option("FILE", flags->file, "The backup")->required();
  }
  backup->footer(
      "A backup shows one moment, also while others write. It holds every object, secrets\n"
      "included. The certificates and keys in DIR/pki are not part of it: keep a copy of that\n"
      "folder apart, without it all nodes must join again after a restore.\n"
      "Examples:\n"
      "  fairlead server backup --data /var/lib/fairlead /backup/fairlead-monday\n"
      "  fairlead server backup --data d1 --store etcd:http://127.0.0.1:2379 monday");
  restore->footer(
      "The file is checked before anything is written. A store that holds anything is refused.\n"
      "DIR/pki is not part of a backup: copy it there before the server's first start.\n"
      "Examples:\n"
      "  fairlead server restore --data /var/lib/fairlead-new /backup/fairlead-monday\n"
      "  fairlead server restore --data d1 --store etcd:http://127.0.0.1:2379 monday");
  backup->callback([flags, &exit_status] { exit_status = run_backup(*flags); });
  restore->callback([flags, &exit_status] { exit_status = run_restore(*flags); });
}

}  // namespace fairlead::program
