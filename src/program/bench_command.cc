#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "bench/api_load.h"
#include "bench/attachment_load.h"
#include "bench/watch_load.h"
#include "program/commands.h"
#include "runtime/epoll_runtime.h"

namespace fairlead::program {
namespace {

struct BenchFlags {
  std::string kubeconfig;
  std::string verb = "get";
  std::string duration = "10s";
  bool http1 = false;
  bool json = false;
  bench::ApiSettings api;
  bench::WatchSettings watch;
  bench::AttachmentSettings attachments;
  std::string wait_after_create = "0s";
};

int report(const Error& error) {
  std::fprintf(stderr, "fairlead bench: %s\n", error.message.c_str());
  return 1;
}

template <class Load>
Task<void> stop_on_signal(runtime::EpollRuntime& runtime, Load& load) {
  while (co_await runtime.next_signal()) load.stop();
}

// Whatever the load has come to is told and cleaned up, also after a signal.
template <class Load>
Task<Result<>> prepare_and_measure(Load& load) {
  FL_CO_CHECKED(co_await load.prepare());
  co_return co_await load.measure();
}

template <class Load>
Task<Result<>> run_load(runtime::EpollRuntime& runtime, Load& load, bool json) {
  runtime::Scope signals(runtime);
  signals.spawn(stop_on_signal(runtime, load));
  Result<> outcome = co_await prepare_and_measure(load);
  if (outcome) {
    const std::string text = json ? wire::encode_json_pretty(load.json()) + "\n" : load.text();
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
  Result<> cleaned = co_await load.clean_up();
  if (outcome && !cleaned) outcome = fail(std::move(cleaned).error().context("clean up"));
  co_await signals.close();
  co_return outcome;
}

std::string kubeconfig_path(const BenchFlags& flags) {
  if (!flags.kubeconfig.empty()) return flags.kubeconfig;
  const char* path = std::getenv("KUBECONFIG");
  return path ? path : "";
}

// A load over `settings`, from the kubeconfig to the exit status. `make` is given the run's name.
template <class Settings, class Make>
int run_bench(const BenchFlags& flags, Result<Settings> settings, Make make) {
  if (!settings) return report(settings.error());
  const std::string path = kubeconfig_path(flags);
  if (path.empty())
    return report({Code::invalid, "--kubeconfig is missing, and KUBECONFIG is not set"});
  runtime::raise_descriptor_limit();
  runtime::EpollRuntime runtime;
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT}); !caught)
    return report(caught.error());
  const Result<bench::Target> target = bench::load_target(runtime.files(), path);
  if (!target) return report(target.error());
  char run[32];
  std::snprintf(run, sizeof run, "b%08x", static_cast<unsigned>(runtime.random()));
  auto load = make(runtime, *target, std::move(*settings), run);
  if (!load) return report(load.error());
  const Result<> outcome = runtime.run_until_complete(run_load(runtime, **load, flags.json));
  if (!outcome) return report(outcome.error());
  return 0;
}

// Of the loads that write objects of a kind.
template <class Load, class Settings>
auto make_object_load(std::size_t size) {
  return [size](runtime::EpollRuntime& runtime, const bench::Target& target, Settings settings,
                const char* run) -> Result<std::unique_ptr<Load>> {
    FL_TRY(bench::ObjectMaker objects, bench::ObjectMaker::make(settings.kind, run, size));
    return std::make_unique<Load>(runtime, target, std::move(settings), std::move(objects));
  };
}

int run_api(const BenchFlags& flags) {
  bench::ApiSettings settings = flags.api;
  const Result<bench::Verb> verb = bench::parse_verb(flags.verb);
  if (!verb) return report(verb.error());
  settings.verb = *verb;
  const Result<Duration> duration = bench::parse_duration(flags.duration);
  if (!duration) return report(duration.error().context("--duration"));
  settings.duration = *duration;
  const std::size_t size = settings.size;
  return run_bench(flags, bench::check_settings(std::move(settings)),
                   make_object_load<bench::ApiLoad, bench::ApiSettings>(size));
}

int run_watch(const BenchFlags& flags) {
  return run_bench(flags, bench::check_settings(flags.watch),
                   make_object_load<bench::WatchLoad, bench::WatchSettings>(0));
}

int run_attachments(const BenchFlags& flags) {
  bench::AttachmentSettings settings = flags.attachments;
  const Result<Duration> pause = bench::parse_duration(flags.wait_after_create);
  if (!pause) return report(pause.error().context("--wait-after-create"));
  settings.wait_after_create = *pause;
  return run_bench(
      flags, bench::check_settings(std::move(settings)),
      [](runtime::EpollRuntime& runtime, const bench::Target& target,
         bench::AttachmentSettings checked, const char* run) {
        return Result<std::unique_ptr<bench::AttachmentLoad>>(
            std::make_unique<bench::AttachmentLoad>(runtime, target, std::move(checked), run));
      });
}

void add_common_flags(CLI::App& command, BenchFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig, "The API to load; default: $KUBECONFIG");
  command.add_flag("--json", flags.json, "The result as JSON");
}

void add_api(CLI::App& bench_command, const std::shared_ptr<BenchFlags>& flags, int& exit_status) {
  CLI::App* command = bench_command.add_subcommand(
      "api", "Requests over many connections: rates and latency percentiles.");
  add_common_flags(*command, *flags);
  bench::ApiSettings& api = flags->api;
  command->add_option("--verb", flags->verb, "create, get, list, patch, update, delete or mixed")
      ->capture_default_str();
  command->add_option("--connections", api.connections, "Each has one request under way")
      ->capture_default_str();
  CLI::Option* duration =
      command->add_option("--duration", flags->duration, "How long to measure: 10s, 1m30s")
          ->capture_default_str();
  command->add_option("--count", api.count, "How many requests, instead of a duration")
      ->excludes(duration);
  command->add_option("--namespace", api.namespace_name, "Made if missing")->capture_default_str();
  command->add_option("--kind", api.kind, bench::known_kinds())->capture_default_str();
  command->add_option("--size", api.size, "Bytes of payload in each object")->capture_default_str();
  command->add_option("--objects", api.objects, "How many objects to make before measuring");
  command->add_option("--rate", api.rate,
                      "Requests per second, sent whether or not answers come; latency then counts "
                      "from when a request was due");
  CLI::Option* http1 = command->add_flag("--http1", flags->http1, "HTTP/1.1 (the default)");
  command->add_flag("--http2", api.http2, "HTTP/2, a connection each")->excludes(http1);
  command->add_flag("--keep", api.keep, "Leave the objects and the namespace");
  command->footer(
      "Examples:\n"
      "  fairlead bench api --kubeconfig d1/admin.kubeconfig --verb create --connections 64\n"
      "  fairlead bench api --verb get --connections 16 --objects 10000 --duration 30s\n"
      "  fairlead bench api --verb list --connections 4 --objects 8000 --json\n"
      "  fairlead bench api --verb mixed --rate 2000");
  command->callback([flags, &exit_status] { exit_status = run_api(*flags); });
}

void add_attachments(CLI::App& bench_command, const std::shared_ptr<BenchFlags>& flags,
                     int& exit_status) {
  CLI::App* command = bench_command.add_subcommand(
      "attachments", "Virtual networks whose attachments come and go: time to each stage.");
  add_common_flags(*command, *flags);
  bench::AttachmentSettings& settings = flags->attachments;
  const auto add = [command](const char* name, auto& value, const char* help) {
    return command->add_option(name, value, help)->capture_default_str();
  };
  add("--networks", settings.networks, "How many virtual networks");
  add("--top-size", settings.top_size, "Attachments in the largest");
  add("--exponent", settings.exponent, "Network i has (1 + bias) * top / (i + bias)^exponent");
  add("--bias", settings.bias, "See --exponent");
  add("--attachments", settings.attachments, "How many are created in all");
  add("--rate", settings.rate, "Creates and deletes per second together; 0: as fast as it goes");
  command->add_flag("--poisson", settings.poisson, "Exponential times between them");
  add("--connections", settings.connections, "Each has one request under way");
  command->add_option("--node", settings.nodes, "Nodes to use; default: every Node of the API");
  command->add_flag("--round-robin", settings.round_robin, "Nodes in turn, not by chance");
  command->add_option("--wait-after-create", flags->wait_after_create,
                      "Pause with everything there, before the last deletes");
  command->add_flag("--ping", settings.ping,
                    "Each new attachment pings one before it (a hook that agents must allow)");
  add("--ping-program", settings.ping_program, "The hook, on the nodes");
  command->add_option("--namespace", settings.namespace_name, "Default: one made for the run");
  command->add_option("--csv", settings.csv, "File for a line on each attachment");
  command->add_option("--prometheus", settings.prometheus, "File for the figures as metrics");
  command->add_flag("--keep", settings.keep, "Leave the subnets and the namespace");
  command->footer(
      "Examples:\n"
      "  fairlead bench attachments --kubeconfig d1/admin.kubeconfig --rate 500 --attachments "
      "5000\n"
      "  fairlead bench attachments --networks 200 --top-size 300 --node n1 --node n2 --csv a.csv\n"
      "  fairlead bench attachments --rate 100 --poisson --json");
  command->callback([flags, &exit_status] { exit_status = run_attachments(*flags); });
}

void add_watch(CLI::App& bench_command, const std::shared_ptr<BenchFlags>& flags,
               int& exit_status) {
  CLI::App* command = bench_command.add_subcommand(
      "watch", "Watchers with selectors of their own: delivery latency and cost of an event.");
  add_common_flags(*command, *flags);
  bench::WatchSettings& watch = flags->watch;
  command->add_option("--watchers", watch.watchers, "Watchers that match nothing that is written")
      ->capture_default_str();
  command->add_option("--matching", watch.matching, "Further watchers, which share the events")
      ->capture_default_str();
  command
      ->add_option("--selector-template", watch.selector_template,
                   "Watcher number n has this selector with n for %d; below spec, status and "
                   "metadata it is a field selector, else a label selector")
      ->capture_default_str();
  command->add_option("--events", watch.events, "How many to write")->capture_default_str();
  command->add_option("--rate", watch.rate, "Events per second; default: as fast as answered");
  command->add_option("--writers", watch.writers, "Connections that write")->capture_default_str();
  command->add_option("--connections", watch.connections,
                      "HTTP/2 connections for the watchers; default: one for every 200");
  command->add_option("--namespace", watch.namespace_name, "Made if missing")
      ->capture_default_str();
  command->add_option("--kind", watch.kind, bench::known_kinds())->capture_default_str();
  command->add_option("--server-pid", watch.server_pid,
                      "Process of the server, here: its CPU time per event is told");
  command->add_flag("--keep", watch.keep, "Leave the objects and the namespace");
  command->footer(
      "Examples:\n"
      "  fairlead bench watch --kubeconfig d1/admin.kubeconfig --watchers 1000 --events 10000\n"
      "  fairlead bench watch --watchers 100 --matching 10 --rate 500 --server-pid 1234\n"
      "  fairlead bench watch --kind configmaps --selector-template 'tier=t%d'");
  command->callback([flags, &exit_status] { exit_status = run_watch(*flags); });
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_status) {
  CLI::App* command =
      app.add_subcommand("bench", "Loads any Kubernetes-style API and measures how it answers.");
  command->require_subcommand(1);
  auto flags = std::make_shared<BenchFlags>();
  add_api(*command, flags, exit_status);
  add_watch(*command, flags, exit_status);
  add_attachments(*command, flags, exit_status);
}

}  // namespace fairlead::program
