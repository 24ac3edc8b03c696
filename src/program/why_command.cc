// `fairlead why KIND NAME`: asks who may know (the agents of this host, the API) why something is
// or is not as it should be, and prints what each says.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "features/networks/why/attachment_why.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "node/agent/admin_client.h"
#include "node/agent/credentials.h"
#include "program/commands.h"

namespace fairlead::program {
namespace {

constexpr const char* kCommand = "fairlead why";

struct WhyFlags {
  std::string kind, name, admin_socket, join_dir, kubeconfig, output = "text";
};

// A kind that can be asked about: a line for each. The agent's side is in its feature
// (node/agent/node_feature.h).
struct WhyKind {
  const char* name;
  // The name as agents know it. Fails with invalid.
  Result<std::string> (*check)(std::string_view text);
  // What the API says; null: it knows nothing of that kind.
  Task<Result<agent::Explanation>> (*ask_api)(client::RestClient& api, std::string name);
};

Result<std::string> attachment_key(std::string_view text) {
  FL_TRY(const networks::AttachmentName name, networks::parse_attachment_name(text));
  return name.key();
}

Task<Result<agent::Explanation>> attachment_in_api(client::RestClient& api, std::string key) {
  FL_CO_TRY(networks::AttachmentName name, networks::parse_attachment_name(key));
  FL_CO_TRY(const networks::ApiFacts facts, co_await networks::gather_facts(api, std::move(name)));
  co_return networks::explain_from_api(facts);
}

constexpr WhyKind kKinds[] = {
    {"attachment", attachment_key, attachment_in_api},
};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const WhyKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

class Inquiry {
 public:
  Inquiry(runtime::Runtime& runtime, const WhyFlags& flags, const WhyKind& kind, std::string name)
      : runtime_(runtime), flags_(flags), kind_(kind), name_(std::move(name)) {}

  Task<Result<>> run() {
    FL_CO_CHECKED(co_await ask_agents());
    if (!flags_.kubeconfig.empty()) {
      FL_CO_CHECKED(co_await ask_api());
    }
    if (!told_.empty()) co_return Result<>{};
    if (!unknowing_.empty()) co_return fail(Code::not_found, unknowing_);
    co_return fail(Code::unavailable,
                   "nobody to ask: no agent of this host answers (--admin-socket), and no "
                   "--kubeconfig was given for the API");
  }
  const std::vector<agent::Explanation>& told() const { return told_; }

 private:
  // Those that were named must answer; of those that were only found some may be dead.
  Task<Result<>> ask_agents() {
    std::vector<std::string> sockets;
    const bool named = !flags_.admin_socket.empty() || !flags_.join_dir.empty();
    if (!flags_.admin_socket.empty()) sockets.push_back(flags_.admin_socket);
    if (!flags_.join_dir.empty()) sockets.push_back(flags_.join_dir + "/agent.sock");
    if (!named) sockets = agent::default_admin_sockets(runtime_.files());
    for (const std::string& socket : sockets) {
      Result<agent::Explanation> answer =
          co_await agent::ask_why(runtime_, socket, kind_.name, name_);
      if (answer) {
        told_.push_back(std::move(*answer));
      } else if (answer.error().code == Code::not_found) {
        unknowing_ += (unknowing_.empty() ? "" : "; ") + answer.error().message;
      } else if (named) {
        co_return fail(answer.error().context("agent"));
      }
    }
    co_return Result<>{};
  }

  Task<Result<>> ask_api() {
    if (!kind_.ask_api) co_return Result<>{};
    Result<agent::ApiAccess> access =
        agent::read_access(runtime_.files(), {.kubeconfig = flags_.kubeconfig});
    if (!access)
      co_return fail(std::move(access).error().context("--kubeconfig " + flags_.kubeconfig));
    FL_CO_TRY(const std::unique_ptr<client::RestClient> api,
              client::RestClient::open(runtime_, std::move(access->config),
                                       {.user_agent = "fairlead-why", .request_time = 10s}));
    Result<agent::Explanation> answer = co_await kind_.ask_api(*api, name_);
    api->close();
    if (!answer) co_return fail(std::move(answer).error().context("API"));
    told_.push_back(std::move(*answer));
    co_return Result<>{};
  }

  runtime::Runtime& runtime_;
  const WhyFlags& flags_;
  const WhyKind& kind_;
  std::string name_;
  std::vector<agent::Explanation> told_;
  std::string unknowing_;  // what agents said that do not know it
};

int run(const WhyFlags& flags) {
  const WhyKind& kind =
      *std::ranges::find_if(kKinds, [&](const WhyKind& one) { return one.name == flags.kind; });
  Result<std::string> name = kind.check(flags.name);
  if (!name) {
    std::fprintf(stderr, "%s: NAME %s\nSee %s --help.\n", kCommand, name.error().message.c_str(),
                 kCommand);
    return command::kWrongUsage;
  }
  runtime::EpollRuntime runtime({.blocking_threads = 1});
  Inquiry inquiry(runtime, flags, kind, std::move(*name));
  const Result<> outcome = runtime.run_until_complete(inquiry.run());
  if (!outcome) return command::report(kCommand, outcome.error());
  if (flags.output == "json") {
    JsonArray all;
    for (const agent::Explanation& one : inquiry.told()) all.push_back(agent::to_json(one));
    std::printf("%s\n", wire::encode_json_pretty(all).c_str());
    return command::kDone;
  }
  for (const agent::Explanation& one : inquiry.told())
    std::fputs(agent::to_text(one).c_str(), stdout);
  return command::kDone;
}

}  // namespace

void add_why_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "why", "Says why something is, or is not, as it was asked for: what is missing, and why.");
  auto flags = std::make_shared<WhyFlags>();
  command->add_option("KIND", flags->kind, "attachment")
      ->required()
      ->check(CLI::IsMember(kind_names()));
  command->add_option("NAME", flags->name, "Of an attachment: NAMESPACE/NAME, or NAME in default")
      ->required();
  command->add_option("--admin-socket", flags->admin_socket,
                      "Of the agent to ask; default: those in /run/fairlead that answer");
  command->add_option("--join-dir", flags->join_dir,
                      "Folder of the node whose agent to ask, instead of --admin-socket");
  command->add_option("--kubeconfig", flags->kubeconfig, "Ask the API, too")->envname("KUBECONFIG");
  command->add_option("-o,--output", flags->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "The agent says what its node does; the API says what was decided and who is silent.\n"
      "It ends with 0 if there was an answer, whatever it was.\n"
      "Examples:\n"
      "  fairlead why attachment default/web\n"
      "  fairlead why attachment default/web --kubeconfig admin.kubeconfig\n"
      "  fairlead why attachment web --join-dir /var/lib/fairlead-node -o json");
  command->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace fairlead::program
