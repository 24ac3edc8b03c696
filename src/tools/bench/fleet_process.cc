#include "tools/bench/fleet_process.h"

#include <csignal>
#include <memory>

#include "api/apiserver/join_service.h"
#include "api/apiserver/version.h"
#include "api/client/rest_client.h"
#include "features/networks/node/networks_node.h"
#include "foundation/base/log.h"
#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"
#include "node/agent/node_agent.h"
#include "node/agent/node_info.h"
#include "node/fabric/log_fabric.h"
#include "node/join/join_client.h"
#include "tools/bench/target.h"

namespace fairlead::bench {
namespace {

constexpr std::size_t kAtOnce = 16;  // joins, starts and removals under way
constexpr Duration kTellInterval = 50ms;
constexpr std::uint32_t kHosts = 0x6440'0000;  // 100.64.0.0: tunnel ends that nobody sends to
const client::ResourceName kSecrets{"", "v1", "secrets", true};
const client::ResourceName kNodes{"", "v1", "nodes", false};

class FleetProcess {
 public:
  FleetProcess(runtime::EpollRuntime& runtime, const FleetShare& share, AgentBoard& board)
      : runtime_(runtime),
        share_(share),
        board_(board),
        mine_(board.share(share.process)),
        processes_(runtime),
        running_(runtime),
        members_(share.nodes.size()) {}

  Task<Result<>> run() {
    FL_CO_TRY(const Target target, load_target(runtime_.files(), share_.kubeconfig));
    FL_CO_TRY(admin_, client::RestClient::open(runtime_, target.config, {.user_agent = "bench"}));
    server_ = target.endpoint;
    FL_CO_CHECKED(co_await make_token(target.config.ca));
    Result<> outcome = co_await for_each(&FleetProcess::start);
    if (outcome) {
      running_.spawn(tell());
      outcome = co_await wait_for_end();
    }
    co_await running_.close();
    co_await clean_up();
    admin_->close();
    co_return outcome;
  }

 private:
  struct Member {
    fabric::LogFabric fabric{{.say = false}};
    std::unique_ptr<agent::NodeAgent> agent;
  };

  Task<Result<>> make_token(std::string ca) {
    FL_CO_TRY(const identity::Certificate authority, identity::Certificate::parse_pem(ca));
    const identity::JoinToken token =
        identity::JoinToken::make([this] { return runtime_.random(); }, authority.key_pin());
    const identity::JoinTokenRecord record =
        identity::make_record(token, runtime_.wall_now() + 1h, "fairlead bench");
    token_ = token.to_string();
    token_id_ = record.id;
    Json secret = apiserver::encode_join_token_secret(record);
    FL_CO_CHECKED(co_await admin_->create(kSecrets, std::string(apiserver::kJoinTokenNamespace),
                                          std::move(secret)));
    co_return Result<>{};
  }

  Task<Result<>> start(std::size_t index) {
    const std::string& node = share_.nodes[index];
    const std::string folder = share_.folder + "/" + node;
    join::JoinClient join(runtime_,
                          {.servers = {server_}, .token = token_, .node = node, .folder = folder},
                          [](const std::string& text) { log::info("join", {{"told", text}}); });
    const Result<join::JoinOutcome> joined = co_await join.run();
    if (!joined) co_return fail(joined.error().context("join " + node));
    ++mine_.joined;
    FL_CO_TRY(agent::AgentOptions options, options_of(index, folder));
    networks::NetworksOptions networks{.host = *options.host};
    networks.carried = [this](const networks::Attachment& attachment) {
      if (!attachment.local) board_.carried(share_.process, attachment.name(), runtime_.now());
    };
    Member& member = members_[index];
    std::vector<agent::FeaturePlan> features{networks::networks_feature(
        std::move(networks), {.fabric = member.fabric, .processes = processes_})};
    FL_CO_TRY(member.agent, agent::NodeAgent::open(runtime_, std::move(options), features));
    running_.spawn(member.agent->run());
    FL_CO_CHECKED(co_await member.agent->wait_ready());
    ++mine_.ready;
    co_return Result<>{};
  }

  Result<agent::AgentOptions> options_of(std::size_t index, const std::string& folder) {
    agent::AgentOptions options;
    options.node = share_.nodes[index];
    options.host = Ip::v4(static_cast<std::uint32_t>(kHosts + 1 + share_.first + index));
    options.info = agent::read_node_info(runtime_.files(), apiserver::kVersion);
    FL_TRY(options.api, agent::read_access(runtime_.files(), {.join_dir = folder}));
    return options;
  }

  Task<Result<>> remove(std::size_t index) {
    const Result<> removed = co_await admin_->remove(kNodes, "", share_.nodes[index]);
    if (!removed && removed.error().code != Code::not_found) co_return removed;
    co_return Result<>{};
  }

  // `step` for every member, a few at a time; the first failure ends it.
  Task<Result<>> for_each(Task<Result<>> (FleetProcess::*step)(std::size_t)) {
    std::size_t next = 0;
    Result<> outcome;
    runtime::Scope scope(runtime_);
    for (std::size_t i = 0; i < kAtOnce; ++i) scope.spawn(work(step, next, outcome));
    co_await scope.join();
    co_return outcome;
  }
  Task<void> work(Task<Result<>> (FleetProcess::*step)(std::size_t), std::size_t& next,
                  Result<>& outcome) {
    while (next < members_.size() && outcome) {
      const Result<> done = co_await (this->*step)(next++);
      if (!done) outcome = done;
    }
  }

  Task<void> tell() {
    for (;;) {
      std::uint64_t stations = 0;
      for (const Member& member : members_) stations += member.fabric.carried().size();
      mine_.stations = stations;
      if (!co_await runtime::sleep(runtime_, kTellInterval)) co_return;
    }
  }

  // An interrupt from the keyboard is the load's to handle.
  Task<Result<>> wait_for_end() {
    for (;;) {
      FL_CO_TRY(const int signal, co_await runtime_.next_signal());
      if (signal == SIGTERM) co_return Result<>{};
    }
  }

  Task<void> clean_up() {
    const Result<> removed = co_await for_each(&FleetProcess::remove);
    if (!removed) log::warning("Nodes left behind", {{"error", removed.error().to_string()}});
    const Result<> forgotten =
        co_await admin_->remove(kSecrets, std::string(apiserver::kJoinTokenNamespace),
                                apiserver::join_token_secret_name(token_id_));
    if (!forgotten)
      log::warning("join token left behind", {{"error", forgotten.error().to_string()}});
  }

  runtime::EpollRuntime& runtime_;
  const FleetShare& share_;
  AgentBoard& board_;
  AgentBoard::Share& mine_;
  runtime::EpollProcesses processes_;
  std::unique_ptr<client::RestClient> admin_;
  runtime::Endpoint server_;
  std::string token_, token_id_;
  runtime::Scope running_;
  std::vector<Member> members_;
};

}  // namespace

int run_fleet_process(const FleetShare& share, AgentBoard& board) {
  log::set_level(log::Level::warning);
  runtime::raise_descriptor_limit();
  runtime::EpollRuntime runtime({.blocking_threads = 2});
  Result<> outcome = runtime.catch_signals({SIGTERM, SIGINT});
  if (outcome) {
    FleetProcess process(runtime, share, board);
    outcome = runtime.run_until_complete(process.run());
  }
  if (outcome) return 0;
  board.fail(share.process, outcome.error().to_string());
  return 1;
}

}  // namespace fairlead::bench
