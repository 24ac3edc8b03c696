// `fairlead bench attachments`, alone or with agents of its own.
#include <random>

#include "tools/bench/agent_fleet.h"
#include "tools/bench/attachment_load.h"
#include "tools/bench/bench_run.h"
#include "tools/bench/settings.h"

namespace fairlead::bench {
namespace {

constexpr const char* kCommand = "fairlead bench attachments";

struct AttachmentFlags : BenchCommon {
  AttachmentSettings settings;
  std::string wait_after_create = "0s";
  std::string settle = "10s";
  std::string metrics_listen;
  bool estimate = false;
  FleetOptions fleet;
};

// The load, with the fleet that it needs around it.
class FleetLoad {
 public:
  FleetLoad(runtime::Runtime& runtime, const Target& target, AttachmentSettings settings,
            const char* run, AgentFleet* fleet)
      : runtime_(runtime),
        fleet_(fleet),
        load_(runtime, target, std::move(settings), run, fleet ? &fleet->board() : nullptr) {}

  Task<Result<>> prepare() {
    if (fleet_) {
      FL_CO_CHECKED(co_await fleet_->wait_ready(runtime_));
    }
    co_return co_await load_.prepare();
  }
  Task<Result<>> measure() { return load_.measure(); }
  Task<Result<>> clean_up() {
    Result<> cleaned = co_await load_.clean_up();
    if (!fleet_) co_return cleaned;
    const Result<> stopped = co_await fleet_->stop(runtime_);
    if (cleaned && !stopped) cleaned = stopped;
    co_return cleaned;
  }
  void stop() { load_.stop(); }
  std::string text() const { return load_.text(); }
  Json json() const { return load_.json(); }
  std::vector<std::string> problems() const { return load_.problems(); }

  Result<> serve_metrics(const std::string& text) {
    if (text.empty()) return {};
    Result<runtime::Endpoint> at = runtime::Endpoint::parse(text);
    if (!at) return fail(std::move(at).error().context("--metrics-listen " + text));
    FL_TRY(const runtime::Endpoint served, load_.serve_metrics(*at));
    std::fprintf(stderr, "metrics: http://%s/metrics\n", served.to_string().c_str());
    return {};
  }

 private:
  runtime::Runtime& runtime_;
  AgentFleet* fleet_;
  AttachmentLoad load_;
};

Result<AttachmentSettings> read_settings(const AttachmentFlags& flags) {
  AttachmentSettings settings = flags.settings;
  const auto read = [](const char* flag, const std::string& text, Duration& into) -> Result<> {
    Result<Duration> duration = parse_duration(text);
    if (!duration) return fail(std::move(duration).error().context(flag));
    into = *duration;
    return {};
  };
  FL_CHECKED(read("--wait-after-create", flags.wait_after_create, settings.wait_after_create));
  FL_CHECKED(read("--settle", flags.settle, settings.settle));
  if (flags.fleet.agents != 0 && !settings.nodes.empty())
    return fail(Code::invalid, "--node: not with --agents, which are the nodes");
  if (flags.fleet.agents != 0 && !settings.node_selector.empty())
    return fail(Code::invalid, "--node-selector: not with --agents, which are the nodes");
  return check_settings(std::move(settings));
}

// Needs no API.
int estimate(const AttachmentFlags& flags, const AttachmentSettings& settings) {
  std::random_device device;
  const auto random = [engine = std::mt19937_64(device())]() mutable { return engine(); };
  const std::size_t nodes = std::max(flags.fleet.agents, settings.nodes.size());
  std::fputs(estimate_text(settings, nodes, random).c_str(), stdout);
  if (settings.sizes_csv.empty()) return command::kDone;
  const Result<> written =
      write_file("--sizes-csv", settings.sizes_csv, sizes_csv(plan_networks(settings, random)));
  return written ? command::kDone : command::report(kCommand, written.error());
}

int run_attachments(const AttachmentFlags& flags) {
  Result<AttachmentSettings> settings = read_settings(flags);
  if (!settings) return command::report(kCommand, settings.error());
  if (flags.estimate) return estimate(flags, *settings);
  std::optional<AgentFleet> fleet;
  if (flags.fleet.agents != 0) {
    FleetOptions options = flags.fleet;
    options.kubeconfig = kubeconfig_path(flags);
    options.attachments = settings->attachments;
    Result<AgentFleet> started = AgentFleet::start(options);
    if (!started) return command::report(kCommand, started.error());
    fleet.emplace(std::move(*started));
    settings->nodes = fleet->nodes();
  }
  return run_bench(
      kCommand, flags, std::move(settings),
      [&](runtime::EpollRuntime& runtime, const Target& target, AttachmentSettings checked,
          const char* run) -> Result<std::unique_ptr<FleetLoad>> {
        auto load = std::make_unique<FleetLoad>(runtime, target, std::move(checked), run,
                                                fleet ? &*fleet : nullptr);
        FL_CHECKED(load->serve_metrics(flags.metrics_listen));
        return load;
      });
}

}  // namespace

void add_bench_attachments(CLI::App& bench_command, int& exit_status) {
  CLI::App* command = bench_command.add_subcommand(
      "attachments", "Virtual networks whose attachments come and go: time to each stage.");
  auto flags = std::make_shared<AttachmentFlags>();
  add_common_flags(*command, *flags);
  AttachmentSettings& settings = flags->settings;
  const auto add = [command](const char* name, auto& value, const char* help) {
    return command->add_option(name, value, help)->capture_default_str();
  };
  command->add_flag("--estimate", flags->estimate,
                    "Only print what the run would consist of and how long it would take");
  add("--networks", settings.networks, "How many virtual networks");
  add("--top-size", settings.top_size, "Attachments in the largest");
  add("--exponent", settings.exponent, "Network i has (1 + bias) * top / (i + bias)^exponent");
  add("--bias", settings.bias, "See --exponent");
  add("--subnet-size-factor", settings.subnet_size_factor,
      "Room in a network's block, in times its size: spare addresses, so that nobody waits for "
      "one that was released");
  add("--base-address", settings.base_address, "Where each network's first block begins");
  add("--subnets-per-network", settings.subnets_per_network,
      "Subnets, next to one another, that share a network's attachments");
  add("--attachments", settings.attachments, "How many are created in all");
  add("--rate", settings.rate, "Creates and deletes per second together; 0: as fast as it goes");
  command->add_option("--fill-rate", settings.fill_rate,
                      "The same while the networks fill and, in the end, empty; default: --rate");
  command->add_flag("--poisson", settings.poisson, "Exponential times between them");
  add("--connections", settings.connections, "Each has one request under way");
  command->add_option("--node", settings.nodes, "Nodes to use; default: every Node of the API");
  command->add_option("--node-selector", settings.node_selector,
                      "Only Nodes with these labels: role=workload");
  command->add_flag("--round-robin", settings.round_robin, "Nodes in turn, not by chance");
  add("--agents", flags->fleet.agents,
      "Nodes of its own: so many agents with the fabric `log`, each joined and connected by "
      "itself");
  add("--agent-processes", flags->fleet.processes, "In how many processes they run");
  add("--wait-after-create", flags->wait_after_create,
      "Pause with everything there, before the last deletes");
  add("--settle", flags->settle, "How long to wait for what is still to come");
  command->add_flag("--ping", settings.ping,
                    "Each new attachment pings one before it (a hook that agents must allow)");
  add("--ping-program", settings.ping_program,
      "The hook, on the nodes, as agents allow it: `make install` puts it there");
  add("--test-fraction", settings.test_fraction, "Share of the attachments that ping, with --ping");
  add("--ping-count", settings.ping_count,
      "Attempts, a second each, before a ping has failed; agents end hooks after their "
      "--hook-timeout");
  command->add_flag("--stop-on-failure", settings.stop_on_failure,
                    "End the run at the first failed request, failed ping, attachment with an "
                    "error, or address given twice");
  command->add_option("--namespace", settings.namespace_name, "Default: one made for the run");
  command->add_option("--server-pid", settings.server_pid,
                      "Process of the server, here: its CPU time and memory are told");
  command->add_option("--csv", settings.csv, "File for a line on each attachment");
  command->add_option("--sizes-csv", settings.sizes_csv,
                      "File for a line on each network: VNI, places, blocks");
  command->add_option("--report", settings.report,
                      "HTML file with plots: percentiles, latency and rate over time");
  command->add_option("--metrics-listen", flags->metrics_listen,
                      "Serve the figures at /metrics while running: 127.0.0.1:9376");
  command->add_option("--prometheus", settings.prometheus,
                      "File for the same metrics at the end of the run");
  command->add_flag("--keep", settings.keep, "Leave the subnets and the namespace");
  command->footer(
      "Examples:\n"
      "  fairlead bench attachments --kubeconfig d1/admin.kubeconfig --rate 500 --attachments "
      "5000\n"
      "  fairlead bench attachments --networks 200 --top-size 300 --node n1 --node n2 --csv a.csv\n"
      "  fairlead bench attachments --agents 100 --networks 20 --top-size 50 --exponent 0 \\\n"
      "    --attachments 3000 --fill-rate 0 --rate 100 --subnet-size-factor 4 --server-pid 1234\n"
      "  fairlead bench attachments --rate 100 --poisson --json --report run.html\n"
      "  fairlead bench attachments --ping --test-fraction 0.1 --stop-on-failure \\\n"
      "    --node-selector role=workload --metrics-listen 127.0.0.1:9376\n"
      "  fairlead bench attachments --networks 1000 --top-size 500 --attachments 20000 --estimate");
  command->callback([flags, &exit_status] { exit_status = run_attachments(*flags); });
}

}  // namespace fairlead::bench
