// `fairlead server token …`: makes, lists and deletes the tokens that machines join with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "api/client/admin_access.h"
#include "api/client/join_tokens.h"
#include "api/client/rest_client.h"
#include "foundation/base/duration_text.h"
#include "foundation/base/time_text.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "program/commands.h"
#include "program/server_config.h"

namespace fairlead::program {
namespace {

struct TokenFlags {
  std::shared_ptr<ServerFlags> server;
  std::string ttl = "24h";
  std::string node;
  std::string description;
  bool replace = false;
  std::string id;
};

// "0": without end.
Result<std::optional<Duration>> life_of(const TokenFlags& flags) {
  constexpr Duration kLongest = 24h * 3650;
  if (flags.ttl == "0") return std::nullopt;
  const Result<Duration> life = parse_duration(flags.ttl);
  if (!life || *life <= Duration::zero() || *life > kLongest)
    return fail(Code::invalid, "--ttl " + flags.ttl +
                                   ": must look like 90s, 30m, 24h or 7d and be at most 3650d, or "
                                   "be 0 for no end");
  return *life;
}

Task<Result<>> create_token(client::RestClient& api, const TokenFlags& flags, std::string ca) {
  FL_CO_TRY(const std::optional<Duration> life, life_of(flags));
  client::NewJoinToken wanted{.life = life,
                              .node = flags.node,
                              .description = flags.description,
                              .replaces_nodes = flags.replace};
  FL_CO_TRY(const identity::JoinToken token,
            co_await client::create_join_token(api, std::move(ca), std::move(wanted)));
  std::printf("%s\n", token.to_string().c_str());
  co_return Result<>{};
}

Task<Result<>> show_tokens(client::RestClient& api) {
  FL_CO_TRY(const std::vector<identity::JoinTokenRecord> records,
            co_await client::list_join_tokens(api));
  const WallTime now = api.runtime().wall_now();
  std::string text = fmt::format("{:<8}{:<22}{:<24}{:<10}{}\n", "ID", "EXPIRES", "NODE", "REPLACES",
                                 "DESCRIPTION");
  for (const identity::JoinTokenRecord& record : records) {
    const std::string expires = !record.expires          ? "never"
                                : *record.expires <= now ? "expired"
                                                         : rfc3339(*record.expires);
    text += fmt::format("{:<8}{:<22}{:<24}{:<10}{}\n", record.id, expires,
                        record.node.empty() ? "any" : record.node,
                        record.replaces_nodes ? "yes" : "no", record.description);
  }
  std::fputs(text.c_str(), stdout);
  co_return Result<>{};
}

enum class Action { create, list, remove };

Result<> check_flags(const TokenFlags& flags) {
  FL_CHECKED(life_of(flags));
  if (!flags.node.empty() && !identity::is_node_name(flags.node))
    return fail(Code::invalid, "--node " + flags.node + ": is not a valid node name");
  return {};
}

Task<Result<>> carry_out(runtime::Runtime& runtime, Action action, const TokenFlags& flags) {
  FL_CO_CHECKED(check_flags(flags));
  FL_CO_TRY(const identity::ClientConfig config,
            client::read_admin_kubeconfig(runtime, flags.server->data));
  FL_CO_TRY(const std::unique_ptr<client::RestClient> api,
            client::RestClient::open(runtime, config, {.user_agent = "fairlead-token"}));
  Result<> outcome;
  if (action == Action::create) {
    outcome = co_await create_token(*api, flags, config.ca);
  } else if (action == Action::list) {
    outcome = co_await show_tokens(*api);
  } else {
    outcome = co_await client::remove_join_token(*api, flags.id);
  }
  api->close();
  co_return outcome;
}

int run(Action action, const TokenFlags& flags) {
  runtime::EpollRuntime runtime;
  const Result<> outcome = runtime.run_until_complete(carry_out(runtime, action, flags));
  if (outcome) return command::kDone;
  return command::report("fairlead server token", outcome.error());
}

}  // namespace

void add_token_command(CLI::App& server, std::shared_ptr<ServerFlags> server_flags,
                       int& exit_status) {
  CLI::App* command = server.add_subcommand(
      "token", "Tokens that machines join with (the server must be running).");
  command->require_subcommand(1);
  auto flags = std::make_shared<TokenFlags>(TokenFlags{.server = std::move(server_flags)});
  const auto add = [&](const char* name, const char* help, Action action, const char* examples) {
    CLI::App* one = command->add_subcommand(name, help);
    one->add_option("--data", flags->server->data, "The server's folder");
    one->footer(examples);
    one->callback([flags, action, &exit_status] { exit_status = run(action, *flags); });
    return one;
  };
  CLI::App* create = add(
      "create", "Makes a token and prints it. It is not shown again.", Action::create,
      "Examples:\n  fairlead server token create --data /var/lib/fairlead --ttl 1h --node rack1-7");
  create->add_option("--ttl", flags->ttl, "How long it is valid: 90s, 30m, 24h, 7d; 0: no end")
      ->capture_default_str();
  create->add_option("--node", flags->node, "Only a node of this name may join with it");
  create->add_option("--description", flags->description, "What it is for");
  create->add_flag("--replace", flags->replace,
                   "May take over the name of a node that is registered with another key");
  add("list", "Shows the tokens, without their secrets.", Action::list,
      "Examples:\n  fairlead server token list --data /var/lib/fairlead");
  CLI::App* remove =
      add("delete", "Deletes a token. Nodes that joined with it stay.", Action::remove,
          "Examples:\n  fairlead server token delete --data /var/lib/fairlead abcdef");
  remove->add_option("ID", flags->id, "The part of the token before the dot")->required();
  command->footer(
      "Examples:\n"
      "  fairlead server token create --data /var/lib/fairlead --ttl 1h --node rack1-7\n"
      "  fairlead server token list --data /var/lib/fairlead\n"
      "  fairlead server token delete --data /var/lib/fairlead abcdef");
}

}  // namespace fairlead::program
