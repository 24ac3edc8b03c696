// `fairlead server backup` and `fairlead server restore`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "api/backup/server_backup.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "program/commands.h"
#include "program/open_store.h"

namespace fairlead::program {
namespace {

struct BackupFlags {
  std::shared_ptr<ServerFlags> server;
  std::string file;
};

// What the store counts in `metrics` is read by nobody.
backup::ServerStore server_store(runtime::Runtime& runtime, const ServerConfig& config,
                                 metrics::Registry& metrics) {
  return {.data = config.flags.data, .store = config.store, .open = [&](store::Revision seen) {
            return open_store(runtime, config, metrics, seen);
          }};
}

constexpr const char* kBackup = "fairlead server backup";
constexpr const char* kRestore = "fairlead server restore";

int run_backup(const BackupFlags& flags) {
  const Result<ServerConfig> config = check_flags(*flags.server);
  if (!config) return command::report(kBackup, config.error());
  metrics::Registry metrics;
  runtime::EpollRuntime runtime;
  const Result<store::BackupSummary> summary = runtime.run_until_complete(
      backup::back_up(runtime, server_store(runtime, *config, metrics), flags.file));
  if (!summary) return command::report(kBackup, summary.error());
  std::printf("%llu objects at revision %llu written to %s\n",
              static_cast<unsigned long long>(summary->items),
              static_cast<unsigned long long>(summary->revision), flags.file.c_str());
  return 0;
}

int run_restore(const BackupFlags& flags) {
  const Result<ServerConfig> config = check_flags(*flags.server);
  if (!config) return command::report(kRestore, config.error());
  metrics::Registry metrics;
  runtime::EpollRuntime runtime;
  const Result<store::BackupSummary> summary = runtime.run_until_complete(
      backup::restore(runtime, server_store(runtime, *config, metrics), flags.file));
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
