// `fairlead why KIND NAME`: asks who may know (the agents of this host, the API) why something is
// or is not as it should be, and prints what each says.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "node/agent/admin_client.h"
#include "node/agent/credentials.h"
#include "program/commands.h"
#include "program/features.h"

namespace fairlead::program {
namespace {

constexpr const char* kCommand = "fairlead why";

struct WhyFlags {
  std::string kind, name, admin_socket, join_dir, kubeconfig, output = "text";
};

std::vector<std::string> names_of(const std::vector<agent::WhyKind>& kinds) {
  std::vector<std::string> names;
  for (const agent::WhyKind& kind : kinds) names.push_back(kind.name);
  return names;
}

// Asks everybody who may know; that one does not answer keeps nobody else from answering.
class Inquiry {
 public:
  Inquiry(runtime::Runtime& runtime, const WhyFlags& flags, const agent::WhyKind& kind,
          std::string name)
      : runtime_(runtime), flags_(flags), kind_(kind), name_(std::move(name)) {}

  Task<void> run() {
    co_await ask_agents();
    if (flags_.kubeconfig.empty() || !kind_.ask_api) co_return;
    const Result<> asked = co_await ask_api();
    if (!asked) problems_.push_back("API: " + asked.error().message);
  }
  const std::vector<agent::Explanation>& told() const { return told_; }
  // Who knows nothing of it, and who did not answer.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  // Of those that were only found, some may be dead; those that were named are to answer.
  Task<void> ask_agents() {
    std::vector<std::string> sockets;
    const bool named = !flags_.admin_socket.empty() || !flags_.join_dir.empty();
    if (!flags_.admin_socket.empty()) sockets.push_back(flags_.admin_socket);
    if (!flags_.join_dir.empty()) sockets.push_back(flags_.join_dir + "/agent.sock");
    if (!named) {
      Result<std::vector<std::string>> found = agent::default_admin_sockets(runtime_.files());
      if (found) {
        sockets = std::move(*found);
      } else {
        problems_.push_back("agent: " + found.error().message);
      }
    }
    for (const std::string& socket : sockets) {
      Result<agent::Explanation> answer =
          co_await agent::ask_why(runtime_, socket, kind_.name, name_);
      const bool dead = !answer && answer.error().code == Code::unavailable;
      if (answer) {
        told_.push_back(std::move(*answer));
      } else if (named || !dead) {
        problems_.push_back("agent: " + answer.error().message);
      }
    }
  }

  Task<Result<>> ask_api() {
    Result<agent::ApiAccess> access =
        agent::read_access(runtime_.files(), {.kubeconfig = flags_.kubeconfig});
    if (!access)
      co_return fail(std::move(access).error().context("--kubeconfig " + flags_.kubeconfig));
    FL_CO_TRY(const std::unique_ptr<client::RestClient> api,
              client::RestClient::open(runtime_, std::move(access->config),
                                       {.user_agent = "fairlead-why", .request_time = 10s}));
    Result<agent::Explanation> answer = co_await kind_.ask_api(*api, name_);
    api->close();
    if (!answer) co_return fail(std::move(answer).error());
    told_.push_back(std::move(*answer));
    co_return Result<>{};
  }

  runtime::Runtime& runtime_;
  const WhyFlags& flags_;
  const agent::WhyKind& kind_;
  std::string name_;
  std::vector<agent::Explanation> told_;
  std::vector<std::string> problems_;
};

void print(const std::vector<agent::Explanation>& told, const std::string& format) {
  if (format == "json") {
    JsonArray all;
    for (const agent::Explanation& one : told) all.push_back(agent::to_json(one));
    std::printf("%s\n", wire::encode_json_pretty(all).c_str());
    return;
  }
  for (const agent::Explanation& one : told) std::fputs(agent::to_text(one).c_str(), stdout);
}

int run(const WhyFlags& flags) {
  const std::vector<agent::WhyKind> kinds = why_kinds();
  const agent::WhyKind& kind = *std::ranges::find(kinds, flags.kind, &agent::WhyKind::name);
  Result<std::string> name = kind.check(flags.name);
  if (!name) {
    std::fprintf(stderr, "%s: NAME %s\nSee %s --help.\n", kCommand, name.error().message.c_str(),
                 kCommand);
    return command::kWrongUsage;
  }
  runtime::EpollRuntime runtime({.blocking_threads = 1});
  Inquiry inquiry(runtime, flags, kind, std::move(*name));
  runtime.run_until_complete(inquiry.run());
  for (const std::string& problem : inquiry.problems())
    std::fprintf(stderr, "%s: %s\n", kCommand, agent::printable(problem).c_str());
  if (!inquiry.told().empty()) {
    print(inquiry.told(), flags.output);
    return command::kDone;
  }
  if (inquiry.problems().empty())
    std::fprintf(stderr,
                 "%s: nobody to ask: no agent in /run/fairlead answers (name one with "
                 "--admin-socket or --join-dir), and no --kubeconfig was given for the API\n",
                 kCommand);
  return command::kFailed;
}

}  // namespace

void add_why_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "why", "Says why something is, or is not, as it was asked for: what is missing, and why.");
  auto flags = std::make_shared<WhyFlags>();
  const std::vector<agent::WhyKind> kinds = why_kinds();
  std::string kind_help, name_help;
  for (const agent::WhyKind& kind : kinds) {
    kind_help += (kind_help.empty() ? "" : ", ") + kind.name;
    name_help += (name_help.empty() ? "Of " : "; of ") + kind.name + ": " + kind.name_help;
  }
  command->add_option("KIND", flags->kind, kind_help)
      ->required()
      ->check(CLI::IsMember(names_of(kinds)));
  command->add_option("NAME", flags->name, name_help)->required();
  command->add_option("--admin-socket", flags->admin_socket,
                      "Socket of the agent to ask; default: all /run/fairlead/agent*.sock");
  command->add_option("--join-dir", flags->join_dir,
                      "Join folder of the agent to ask: an agent with --join-dir and without "
                      "--admin-socket has its socket there, where it is not found by default");
  command->add_option("--kubeconfig", flags->kubeconfig, "Ask the API, too")->envname("KUBECONFIG");
  command->add_option("-o,--output", flags->output, "text, or json: a list with each answer")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "The agent says what its node does; the API says what was decided and who is silent.\n"
      "Asking an agent needs root. Who does not answer is named on standard error.\n"
      "It ends with 0 if anybody answered, whatever the answer was.\n"
      "Examples:\n"
      "  fairlead why attachment default/web\n"
      "  fairlead why attachment default/web --kubeconfig admin.kubeconfig\n"
      "  fairlead why attachment web --join-dir /var/lib/fairlead-node -o json");
  command->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace fairlead::program
