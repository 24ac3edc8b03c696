#include "node/join/join_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <memory>

#include "foundation/base/time_text.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "node/join/join_client.h"

namespace fairlead::join {
namespace {

constexpr const char* kCommand = "fairlead join";

struct JoinFlags {
  std::vector<std::string> servers;
  std::string token, node, data;
  bool renew = false;
};

std::string own_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  std::string text = name;
  for (char& character : text)
    character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  return text;
}

Result<JoinPlan> check_flags(const JoinFlags& flags) {
  JoinPlan plan{.servers = {},
                .token = flags.token,
                .node = flags.node,
                .default_node = own_host_name(),
                .folder = flags.data,
                .renew = flags.renew};
  if (plan.folder.empty()) return fail(Code::invalid, "--data: a folder must be given");
  if (!plan.node.empty() && !identity::is_node_name(plan.node))
    return fail(Code::invalid, "--node " + plan.node + ": is not a valid node name");
  for (std::string text : flags.servers) {
    if (text.starts_with("https://")) text.erase(0, 8);
    Result<runtime::Endpoint> endpoint = runtime::Endpoint::parse(text);
    if (!endpoint) return fail(std::move(endpoint).error().context("--server " + text));
    plan.servers.push_back(std::move(*endpoint));
  }
  return plan;
}

void tell(const std::string& text) { std::fprintf(stderr, "fairlead join: %s\n", text.c_str()); }

int run(const JoinFlags& flags) {
  Result<JoinPlan> plan = check_flags(flags);
  if (!plan) return command::report(kCommand, plan.error());
  runtime::EpollRuntime runtime;
  JoinClient client(runtime, std::move(*plan), tell);
  const Result<JoinOutcome> outcome = runtime.run_until_complete(client.run());
  if (!outcome) return command::report(kCommand, outcome.error());
  const std::string until = rfc3339(outcome->valid_until);
  const char* node = outcome->node.c_str();
  switch (outcome->kind) {
    case JoinOutcome::Kind::unchanged:
      std::printf("already joined as %s, certificate valid until %s\n", node, until.c_str());
      break;
    case JoinOutcome::Kind::renewed:
      std::printf("certificate of %s renewed by %s, valid until %s\n", node,
                  outcome->server.c_str(), until.c_str());
      break;
    case JoinOutcome::Kind::joined:
      std::printf("joined %s as %s, certificate valid until %s\n", outcome->server.c_str(), node,
                  until.c_str());
      break;
  }
  return 0;
}

}  // namespace

void add_join_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("join", "Makes this machine a node of a cluster.");
  auto flags = std::make_shared<JoinFlags>();
  command
      ->add_option("--server", flags->servers,
                   "API servers, HOST:PORT; several with commas are tried in order")
      ->delimiter(',');
  command->add_option("--token", flags->token, "What `fairlead server token create` printed")
      ->envname("FAIRLEAD_JOIN_TOKEN");
  command->add_option("--node", flags->node, "Name of the node; default: this host's name");
  command->add_option("--data", flags->data,
                      "Folder for key, certificate and kubeconfig of the node");
  command->add_flag("--renew", flags->renew, "Renew the certificate now, before it is due");
  command->footer(
      "Running it again does nothing while the certificate is good, and renews it when it is due;\n"
      "that needs no token. Files: node.key, node.crt, ca.crt, servers, node.kubeconfig.\n"
      "Examples:\n"
      "  fairlead join --server 10.0.0.1:6443,10.0.0.2:6443 --data /var/lib/fairlead-node \\\n"
      "    --token abcdef.0123456789abcdef@sha256:…\n"
      "  FAIRLEAD_JOIN_TOKEN=… fairlead join --server 10.0.0.1:6443 --node rack1-7 --data n\n"
      "  fairlead join --renew --data /var/lib/fairlead-node");
  command->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace fairlead::join
