#include "tools/bench/bench_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "tools/bench/api_load.h"
#include "tools/bench/bench_run.h"
#include "tools/bench/watch_load.h"

namespace fairlead::bench {
namespace {

struct BenchFlags : BenchCommon {
  std::string verb = "get";
  std::string duration = "10s";
  bool http1 = false;
  ApiSettings api;
  WatchSettings watch;
};

// Of the loads that write objects of a kind.
template <class Load, class Settings>
auto make_object_load(std::size_t size) {
  return [size](runtime::EpollRuntime& runtime, const Target& target, Settings settings,
                const char* run) -> Result<std::unique_ptr<Load>> {
    FL_TRY(ObjectMaker objects, ObjectMaker::make(settings.kind, run, size));
    return std::make_unique<Load>(runtime, target, std::move(settings), std::move(objects));
  };
}

int run_api(const BenchFlags& flags) {
  constexpr const char* kCommand = "fairlead bench api";
  ApiSettings settings = flags.api;
  const Result<Verb> verb = parse_verb(flags.verb);
  if (!verb) return command::report(kCommand, verb.error());
  settings.verb = *verb;
  const Result<Duration> duration = parse_duration(flags.duration);
  if (!duration) return command::report(kCommand, duration.error().context("--duration"));
  settings.duration = *duration;
  const std::size_t size = settings.size;
  return run_bench(kCommand, flags, check_settings(std::move(settings)),
                   make_object_load<ApiLoad, ApiSettings>(size));
}

int run_watch(const BenchFlags& flags) {
  return run_bench("fairlead bench watch", flags, check_settings(flags.watch),
                   make_object_load<WatchLoad, WatchSettings>(0));
}

void add_api(CLI::App& bench_command, const std::shared_ptr<BenchFlags>& flags, int& exit_status) {
  CLI::App* command = bench_command.add_subcommand(
      "api", "Requests over many connections: rates and latency percentiles.");
  add_common_flags(*command, *flags);
  ApiSettings& api = flags->api;
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
  command->add_option("--kind", api.kind, known_kinds())->capture_default_str();
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

void add_watch(CLI::App& bench_command, const std::shared_ptr<BenchFlags>& flags,
               int& exit_status) {
  CLI::App* command = bench_command.add_subcommand(
      "watch", "Watchers with selectors of their own: delivery latency and cost of an event.");
  add_common_flags(*command, *flags);
  WatchSettings& watch = flags->watch;
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
  command->add_option("--kind", watch.kind, known_kinds())->capture_default_str();
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
  command->footer(
      "Examples:\n"
      "  fairlead bench api --kubeconfig d1/admin.kubeconfig --verb create --connections 64\n"
      "  fairlead bench watch --kubeconfig d1/admin.kubeconfig --watchers 1000 --events 10000\n"
      "  fairlead bench attachments --kubeconfig d1/admin.kubeconfig --agents 10 --rate 100\n"
      "A run in which anything failed ends with exit status 1 and says what, after the figures.");
  auto flags = std::make_shared<BenchFlags>();
  add_api(*command, flags, exit_status);
  add_watch(*command, flags, exit_status);
  add_bench_attachments(*command, exit_status);
}

}  // namespace fairlead::bench
