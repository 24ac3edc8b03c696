#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <utility>

#include "foundation/command/announce.h"
#include "foundation/command/log_flags.h"
#include "foundation/command/resident_memory.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"
#include "program/commands.h"
#include "program/server_config.h"
#include "program/server_program.h"

namespace fairlead::program {
namespace {

constexpr std::string_view kProgram = "fairlead server";

Task<Result<>> run_process(runtime::EpollRuntime& runtime, const ServerConfig& config) {
  command::StopRequest stop;
  runtime::Scope scope(runtime);
  scope.spawn(command::ask_at_signals(runtime, stop));
  ServerSurroundings surroundings{
      .open_store =
          [&](metrics::Registry& metrics) { return open_store(runtime, config, metrics); },
      .tell_ready =
          [&config](const std::string& url, const std::string& store) {
            const std::string kubeconfig = config.flags.data + "/admin.kubeconfig";
            command::announce(kProgram,
                              " on " + url + ", store " + store + ", kubeconfig " + kubeconfig,
                              {{"url", url}, {"store", store}, {"kubeconfig", kubeconfig}});
          },
      .give_back_memory = command::give_back_memory};
  Result<> outcome = co_await run_server(runtime, config, std::move(surroundings), stop);
  co_await scope.close();
  co_return outcome;
}

int run(const ServerFlags& flags) {
  command::set_up_log(flags.log);
  Result<ServerConfig> config = check_flags(flags);
  if (!config) return command::report_failure(kProgram, config.error());
  runtime::raise_descriptor_limit();
  runtime::EpollRuntime runtime;
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT}); !caught)
    return command::report_failure(kProgram, caught.error());
  const Result<> outcome = runtime.run_until_complete(run_process(runtime, *config));
  if (!outcome) return command::report_failure(kProgram, outcome.error());
  return 0;
}

void add_identity_flags(CLI::App& command, ServerFlags& flags) {
  command
      .add_option("--tls-name", flags.tls_names,
                  "Further names or addresses for the server certificate")
      ->group("Identity");
  command
      .add_option("--token-auth-file", flags.token_auth_file,
                  "CSV file: token,user,uid,\"group1,group2\"")
      ->group("Identity");
  command
      .add_option("--client-ca-file", flags.client_ca_file,
                  "Further authorities for client certificates (PEM)")
      ->group("Identity");
  command
      .add_option("--requestheader-client-ca-file", flags.requestheader_client_ca_file,
                  "Authority of the aggregator that vouches for users by X-Remote-* headers")
      ->group("Identity");
  command
      .add_option("--requestheader-allowed-names", flags.requestheader_allowed_names,
                  "Common names of that aggregator's certificate; empty: any")
      ->delimiter(',')
      ->group("Identity");
  command
      .add_option(
          "--host-kubeconfig", flags.host_kubeconfig,
          "Serve behind the API aggregator of the Kubernetes cluster that this file names "
          "(\"in-cluster\": the one whose pod this is): users, tokens, rights and namespaces "
          "are the host's, only fairlead.dev is served")
      ->group("Identity");
  command
      .add_option("--agent-token-audience", flags.agent_token_audience,
                  "With --host-kubeconfig: a token for this audience, bound to a pod of "
                  "--agent-service-account, proves the node that the pod runs on; default: agents "
                  "need the kubelet's certificate")
      ->group("Identity");
  command
      .add_option("--agent-service-account", flags.agent_service_account,
                  "The agents' service account there, NAMESPACE/NAME")
      ->capture_default_str()
      ->group("Identity");
  command
      .add_flag("--anonymous-auth,!--no-anonymous-auth", flags.anonymous,
                "Requests without credentials see health and version")
      ->group("Identity");
}

void add_limit_flags(CLI::App& command, ServerFlags& flags) {
  const auto add = [&command](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->capture_default_str()->group("Limits");
  };
  add("--max-reads", flags.max_reads,
      "Reads under way before 429; of these and the next two a node may have a tenth");
  add("--max-writes", flags.max_writes, "Writes under way before 429");
  add("--max-watches", flags.max_watches, "Open watches before 429");
  add("--max-connections", flags.max_connections, "Open connections; further ones are closed");
  add("--max-strangers", flags.max_strangers,
      "Of them without a request that proved who asks, at most four fifths of all; then the "
      "address that has most of them loses its oldest");
  add("--joins-per-second", flags.joins_per_second,
      "Joins with a right token, and attempts without one; five times as many at once. Further "
      "ones are told to wait");
  add("--node-grace-seconds", flags.node_grace_seconds,
      "An agent that was not heard for this long counts as silent; agents tell every 10 s");
  add("--handshake-seconds", flags.handshake_seconds, "Time for a peer's TLS handshake");
  add("--header-seconds", flags.header_seconds, "First byte of a request to its last header");
  add("--body-seconds", flags.body_seconds, "Last header of a request to the end of its body");
  add("--idle-seconds", flags.idle_seconds, "A connection without a request is closed after this");
  add("--stall-seconds", flags.stall_seconds, "A peer that takes none of its answer is cut");
  add("--shutdown-delay-seconds", flags.shutdown_delay_seconds,
      "After SIGTERM everything is still served for this long while /readyz says no, so that load "
      "balancers send requests elsewhere first");
  add("--drain-seconds", flags.drain_seconds,
      "How long requests under way may then go on; watches end at once");
}

}  // namespace

void add_store_flags(CLI::App& command, ServerFlags& flags) {
  command.add_option("--store", flags.store, "sqlite, sqlite:DIR, etcd:URL[,URL…] or memory")
      ->capture_default_str()
      ->group("Store");
  command.add_option("--etcd-ca", flags.etcd_ca, "Authority of the etcd members (PEM)")
      ->group("Store");
  command.add_option("--etcd-cert", flags.etcd_cert, "Client certificate for etcd (PEM)")
      ->group("Store");
  command.add_option("--etcd-key", flags.etcd_key, "Its key (PEM)")->group("Store");
  command.add_option("--etcd-prefix", flags.etcd_prefix, "Everything is kept below this key")
      ->capture_default_str()
      ->group("Store");
}

void add_server_command(CLI::App& app, int& exit_status) {
  CLI::App* command =
      app.add_subcommand("server", "The API server and its controllers: kubectl works on it.");
  auto flags = std::make_shared<ServerFlags>();
  command->add_option("--data", flags->data,
                      "Folder for the store, the certificates and the admin's credentials");
  command->add_option("--listen-netns", flags->listen_netns,
                      "Further address, in a network namespace: NETNS=10.0.0.1:6443");
  command->add_option("--listen", flags->listen, "Address to serve on; may be given several times")
      ->capture_default_str();
  command->add_option("--advertise", flags->advertise,
                      "Address that clients are told (host:port); default: the first --listen");
  add_store_flags(*command, *flags);
  command
      ->add_option("--lock-wait-seconds", flags->lock_wait_seconds,
                   "How long to wait, serving nothing, for a data folder that another server still "
                   "has; 0: fail at once")
      ->capture_default_str()
      ->group("Store");
  add_identity_flags(*command, *flags);
  command->add_option("--audit-log", flags->audit_log,
                      "File for audit records, - for standard output");
  command->add_option("--audit-level", flags->audit_level, "metadata or request")
      ->check(CLI::IsMember({"metadata", "request"}))
      ->capture_default_str();
  command::add_log_flags(*command, flags->log);
  add_limit_flags(*command, *flags);
  command->footer(
      "Examples:\n"
      "  fairlead server --data /var/lib/fairlead --listen 0.0.0.0:6443\n"
      "  fairlead server --data d1 --listen 127.0.0.1:7001 --store "
      "etcd:http://127.0.0.1:2379\n"
      "  fairlead server --data /var/lib/fairlead --listen 0.0.0.0:8443 --host-kubeconfig "
      "in-cluster --tls-name fairlead.fairlead-system.svc\n"
      "  kubectl --kubeconfig d1/admin.kubeconfig get namespaces\n"
      "  fairlead server token create --data /var/lib/fairlead\n"
      "  fairlead server backup --data /var/lib/fairlead /backup/monday");
  add_backup_commands(*command, flags, exit_status);
  add_token_command(*command, flags, exit_status);
  // Its own callback comes after those of the subcommands.
  command->callback([command, flags, &exit_status] {
    if (command->get_subcommands().empty()) exit_status = run(*flags);
  });
}

}  // namespace fairlead::program
